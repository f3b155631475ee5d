// All that the file says of itself, tag by tag, with a search.

import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { count } from "./format.js";
import { showFailure } from "./messages.js";

/** A fold; what is in it is fetched when it is opened for the first time. */
export function rawTags(id, signal) {
  const inside = h("div", {});
  const fold = h("details", { class: "card" }, h("summary", {}, h("h2", {}, "All tags")), inside);
  const load = async () => {
    replace(inside, h("p", { class: "faint" }, "Loading…"));
    try {
      const answer = await get(`/v1/photos/${id}/exif`, { signal });
      if (answer.raw) draw(inside, Object.entries(answer.raw));
      else replace(inside, h("p", { class: "faint" }, "They are still being read. Open this again in a moment."));
    } catch (error) {
      showFailure(inside, error, load);
    }
  };
  fold.addEventListener("toggle", () => fold.open && !inside.querySelector("table") && load());
  return fold;
}

function draw(inside, tags) {
  if (!tags.length) return replace(inside, h("p", { class: "faint" }, "The file has none."));
  const rows = tags.map(([name, value]) => {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    return { element: h("tr", {}, h("th", { scope: "row" }, name), h("td", {}, text)), words: `${name} ${text}`.toLowerCase() };
  });
  const told = h("span", { class: "faint", role: "status" });
  const search = h("input", { type: "search", "aria-label": "Search the tags", placeholder: "Search the tags" });
  search.oninput = () => {
    const wanted = search.value.trim().toLowerCase();
    for (const { element, words } of rows) element.hidden = !words.includes(wanted);
    told.textContent = `${count(rows.filter(({ element }) => !element.hidden).length)} of ${count(rows.length)}`;
  };
  replace(inside, h("p", { class: "row" }, search, told), h("div", { class: "scrolled", tabindex: "0", role: "region", "aria-label": "All tags" }, h("table", { class: "tags" }, h("tbody", {}, rows.map(({ element }) => element)))));
  search.oninput();
}
