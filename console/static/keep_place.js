// Who follows a link into the console and has to sign in first: main.js leads them there afterwards.

if (location.hash.startsWith("#/")) sessionStorage.setItem("place", location.hash);
