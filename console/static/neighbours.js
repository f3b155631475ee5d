// From one photo to the next, in the order of the list that it was opened from, and back to that list.

import { h } from "./dom.js";
import { isNewer } from "./list.js";
import { place } from "./router.js";
import { comeBackTo } from "./view_place.js";

const MOST_PAGES = 10; // an old photo of many stands without neighbours, rather than to have all before it fetched

/** What the photo's view shows of it: links back, to the newer and the older one; their keys. */
export function walking(list, id) {
  const home = place("/photos", list.filters);
  const back = h("a", { class: "button quiet", href: home, "aria-keyshortcuts": "Escape" }, "← Photos");
  const newer = h("a", { class: "walk newer", "aria-label": "Newer photo", "aria-keyshortcuts": "ArrowLeft" }, h("span", { "aria-hidden": "true" }, "‹"));
  const older = h("a", { class: "walk older", "aria-label": "Older photo", "aria-keyshortcuts": "ArrowRight" }, h("span", { "aria-hidden": "true" }, "›"));
  const to = (other) => other && place(`/photos/${other.id}`, list.filters);
  const draw = () => {
    const at = list.indexOf(id);
    for (const [link, other] of [[newer, list.photos[at - 1]], [older, at < 0 ? null : list.photos[at + 1]]]) {
      if (other) link.href = to(other);
      else link.removeAttribute("href");
      link.onclick = (event) => {
        // A walk is one step for the browser's way back: to the list.
        event.preventDefault();
        if (other) location.replace(to(other));
      };
    }
  };
  comeBackTo(id);
  draw();
  return {
    home,
    back,
    arrows: [newer, older],
    /** Load the list up to the photo and the one behind it, if it isn't and they aren't far: after a reload. Never fails. */
    async find(photo, signal) {
      let pages = 0;
      const passed = () => list.photos.length > 0 && isNewer(photo, list.photos.at(-1)); // the filters don't let it through
      try {
        await list.until(() => signal.aborted || list.indexOf(id) >= 0 || passed() || pages++ >= MOST_PAGES);
        if (!signal.aborted && list.indexOf(id) === list.photos.length - 1 && !list.done) await list.more();
      } catch {
        // Without the list there is no walk; the photo is there all the same.
      }
      draw();
    },
    /** Where to go when this one is gone. */
    afterDeletion() {
      const at = list.indexOf(id);
      return to(at < 0 ? null : (list.photos[at + 1] ?? list.photos[at - 1])) ?? home;
    },
    pressed(event) {
      if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
      if (document.querySelector("dialog[open]") || event.target.closest("input, select, textarea, pre, .scrolled")) return;
      const link = { ArrowLeft: newer, ArrowRight: older, Escape: back }[event.key];
      link?.click();
    },
  };
}
