// The page's beginning: the places that the session may see, and whether the service answers.

import { onReach } from "./api.js";
import { h, replace } from "./dom.js";
import { may } from "./me.js";
import { begin } from "./router.js";
import * as deadLetters from "./dead_letters.js";
import * as photo from "./photo.js";
import * as photos from "./photos.js";
import * as queues from "./queues.js";
import * as system from "./system.js";

// `path`: where its link in the bar leads; without one it has none there.
const ALL = [
  { name: "photos", title: "Photos", path: "/photos", pattern: /^\/photos$/, scope: "photos:read", show: photos.show },
  { name: "photo", title: "Photo", within: "photos", pattern: /^\/photos\/([0-9a-f-]{36})$/, scope: "photos:read", show: photo.show },
  { name: "queues", title: "Queues", path: "/queues", pattern: /^\/queues$/, scope: "admin", show: queues.show },
  { name: "dead-letters", title: "Dead letters", path: "/dead-letters", pattern: /^\/dead-letters$/, scope: "admin", show: deadLetters.show },
  { name: "system", title: "System", path: "/system", pattern: /^\/system$/, scope: "admin", show: system.show },
];

const routes = ALL.filter((route) => may(route.scope));
const places = document.getElementById("places");
const links = routes.filter((route) => route.path).map((route) => h("a", { href: `#${route.path}`, dataset: { place: route.name } }, route.title));
replace(places, links);

onReach((reached) => {
  document.getElementById("connection").textContent = reached ? "" : "The service doesn't answer. Trying again…";
});

const kept = sessionStorage.getItem("place");
sessionStorage.removeItem("place");
if (kept && !location.hash) history.replaceState(null, "", kept);

const view = document.getElementById("view");
if (routes.length) {
  begin(routes, view, (route) => {
    for (const link of links) {
      const here = link.dataset.place === route.name || link.dataset.place === route.within;
      if (here) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
  });
} else {
  replace(view, h("p", { class: "empty" }, "This key may upload photos, and look at nothing: there is nothing to show."));
}
