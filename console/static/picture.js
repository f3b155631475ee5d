// A photo as large as there is room: its placeholder at once, then the preview that fits the screen.

import { h, replace } from "./dom.js";
import { placeholder } from "./placeholder.js";

/** `{element, show(photo, name)}` */
export function picture() {
  const element = h("div", { class: "large-picture" });
  let shown = null;
  const show = (photo, name) => {
    const key = JSON.stringify([photo.previews.map((preview) => preview.url), photo.placeholder, photo.previews.length ? "" : photo.state]);
    if (key === shown) return;
    shown = key;
    const largest = photo.previews.at(-1);
    // The room is kept from the beginning, so that nothing jumps when the picture comes.
    element.style.aspectRatio = photo.width ? `${photo.width} / ${photo.height}` : "3 / 2";
    replace(element, placeholder(photo.placeholder), largest ? image(photo.previews, largest, name) : h("p", { class: "empty" }, photo.state === "failed" ? "There is no preview of it." : "Its preview is being made."));
  };
  return { element, show };
}

function image(previews, largest, name) {
  const high = `${Math.round((80 * largest.width) / largest.height)}vh`;
  const made = h("img", {
    alt: name,
    // How wide it is drawn: as wide as its column, or as 80 % of the screen are high (photos.css).
    sizes: `(min-width: 1000px) min(100vw - 26rem, 1174px, ${high}), min(100vw, ${high})`,
    srcset: previews.map((preview) => `${preview.url} ${preview.width}w`).join(", "),
    src: largest.url,
  });
  made.onload = () => made.classList.add("there");
  return made;
}
