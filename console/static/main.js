// The page's beginning: the places that the session may see, and whether the service answers.

import { onReach } from "./api.js";
import { h, replace } from "./dom.js";
import { picker, takeFiles } from "./dropping.js";
import { may } from "./me.js";
import { failure } from "./messages.js";
import { begin, showFault } from "./router.js";
import * as photos from "./photos.js";
import { beginPanel, upload } from "./upload_panel.js";

const REACHED_MS = 4000;
// `path`: where its link in the bar leads; without one it has none there.
const ALL = [
  { name: "photos", title: "Photos", path: "/photos", pattern: /^\/photos$/, scope: "photos:read", show: photos.show },
  { name: "photo", title: "Photo", within: "photos", pattern: /^\/photos\/([0-9a-f-]{36})$/, scope: "photos:read", show: later(() => import("./photo.js")) },
  { name: "queues", title: "Queues", path: "/queues", pattern: /^\/queues$/, scope: "admin", show: later(() => import("./queues.js")) },
  { name: "dead-letters", title: "Dead letters", path: "/dead-letters", pattern: /^\/dead-letters$/, scope: "admin", show: later(() => import("./dead_letters.js")) },
  { name: "system", title: "System", path: "/system", pattern: /^\/system$/, scope: "admin", show: later(() => import("./system.js")) },
];

// A view that is fetched when it is asked for. After an upgrade of the service its file is gone: then the page is, too.
function later(load) {
  return (root, place) => {
    let leave;
    load()
      .then(
        (module) => (leave = place.signal.aborted ? null : module.show(root, place)),
        () => {
          if (place.signal.aborted) return;
          replace(root, failure({ message: "This view can't be fetched." }, () => location.reload()));
          reloadWhenReached(place.signal);
        },
      )
      .catch((error) => showFault(root, error));
    return () => leave?.();
  };
}

// With the service the files are there again, maybe others: of a newer page.
function reloadWhenReached(signal) {
  const timer = setInterval(async () => {
    const reached = await fetch("/readyz").then((answer) => answer.ok, () => false);
    if (reached && !signal.aborted) location.reload();
  }, REACHED_MS);
  signal.addEventListener("abort", () => clearInterval(timer));
}

const routes = ALL.filter((route) => may(route.scope));
const places = document.getElementById("places");
const links = routes.filter((route) => route.path).map((route) => h("a", { href: `#${route.path}`, dataset: { place: route.name } }, route.title));
replace(places, links);

onReach((reached) => {
  document.getElementById("connection").textContent = reached ? "" : "The service doesn't answer. Trying again…";
});

if (may("photos:write")) {
  beginPanel();
  takeFiles(upload);
}

const kept = sessionStorage.getItem("place");
sessionStorage.removeItem("place");
if (kept && !location.hash) history.replaceState(null, "", kept);

const view = document.getElementById("view");
// `#view` is no place in the console: the router would leave the view for it.
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault();
  view.focus();
});
if (routes.length) {
  begin(routes, view, (route) => {
    for (const link of links) {
      const here = link.dataset.place === route.name || link.dataset.place === route.within;
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  });
} else if (may("photos:write")) {
  const pickers = h("div", { class: "pickers" }, picker("Upload files", upload, { main: true }), picker("Upload a folder", upload, { folder: true }));
  replace(view, h("div", { class: "empty" }, h("p", {}, "This key may upload photos and look at none. Drop them here, or choose them."), pickers));
} else {
  replace(view, h("p", { class: "empty" }, "This key may look at nothing here."));
}
