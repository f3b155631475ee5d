// One photo of the grid: its placeholder, its preview when there is one, its name, its state.

import { h, replace } from "./dom.js";
import { placeholder } from "./placeholder.js";
import { place } from "./router.js";

const STATES = { processing: ["…", "Processing"], failed: ["!", "Failed"], ready: ["", "Ready"] };

/** A state as people see it: a sign and a word, never a colour alone. */
export function stateBadge(state) {
  const [sign, word] = STATES[state];
  return h("span", { class: `badge ${state}` }, sign && h("span", { "aria-hidden": "true" }, sign), word);
}

export class Tile {
  #photo = null;
  #shown = "";
  #key = "";
  #picture = h("span", { class: "picture" });
  #name = h("span", { class: "name" });
  #state = h("span", { class: "state" });
  #link = h("a", { class: "open", tabindex: "-1" }, this.#picture, this.#name, this.#state);
  #box = h("input", { type: "checkbox", tabindex: "-1" });
  element = h("li", { class: "tile" }, this.#link, h("label", { class: "select" }, this.#box));

  /** `filters` stand in the link, so that the photo's view knows its neighbours. */
  constructor(id, filters) {
    this.element.dataset.id = id;
    this.#link.href = place(`/photos/${id}`, filters);
  }

  /**
   * Show the photo as it is now, where it is: `style`. Asked for every tile in each frame of a scroll, so what
   * hasn't changed isn't touched. `eager`: load its preview at once.
   */
  show(photo, style, { selected, current, at, of, eager }) {
    if (photo !== this.#photo) this.#draw(photo);
    const key = `${style.transform} ${style.width} ${selected} ${current} ${at} ${of}`;
    if (key !== this.#key) {
      this.#key = key;
      Object.assign(this.element.style, style);
      this.#box.checked = selected;
      this.element.classList.toggle("selected", selected);
      this.#link.tabIndex = current ? 0 : -1;
      this.element.setAttribute("aria-posinset", at + 1);
      this.element.setAttribute("aria-setsize", of);
    }
    if (eager) this.load();
  }

  /** Load the preview, if there is one and it isn't shown already. */
  load() {
    const url = this.#photo.previews[0]?.url ?? "";
    if (!url || url === this.#shown) return;
    this.#shown = url;
    const image = h("img", { alt: "", decoding: "async" });
    image.onload = () => {
      for (const old of this.#picture.querySelectorAll("img")) if (old !== image) old.remove();
      image.classList.add("there");
    };
    image.onerror = () => {
      image.remove();
      this.#shown = ""; // tried again with the next change of the photo, or when it is scrolled to again
    };
    image.src = url;
    this.#picture.append(image);
  }

  focus() {
    this.#link.focus({ preventScroll: true });
  }

  #draw(photo) {
    const named = photo.filename ?? "Photo without a name";
    if (photo.placeholder !== this.#photo?.placeholder) {
      this.#picture.querySelector("canvas")?.remove();
      const canvas = placeholder(photo.placeholder);
      if (canvas) this.#picture.prepend(canvas);
    }
    this.#photo = photo;
    this.#name.textContent = named;
    this.#name.title = named;
    this.#box.setAttribute("aria-label", `Select ${named}`);
    this.element.dataset.state = photo.state;
    replace(this.#state, stateBadge(photo.state));
  }
}
