// A grid of any number of photos: only the tiles near the view are in the page, so that scrolling stays smooth.

import { h } from "./dom.js";
import { Tile } from "./tile.js";

const NARROWEST_PX = 168;
const GAP_PX = 12;
const CAPTION_PX = 34;
const AROUND_SCREENS = 0.75; // tiles made ahead, above and below
const AHEAD_SCREENS = 4; // photos loaded ahead
const SETTLED_MS = 80; // who flies by loads no previews

export class Grid {
  element = h("ul", { class: "grid", role: "list", "aria-label": "Photos" });
  #list;
  #selection;
  #near;
  #tiles = new Map();
  #current = 0;
  #columns = 1;
  #tileWidth = NARROWEST_PX;
  #frame = null;
  #settled = null;
  #moving = false;
  #resized = new ResizeObserver(() => this.#measure());

  /** `near()` is called when the end of what is loaded comes near. */
  constructor(list, selection, near) {
    this.#list = list;
    this.#selection = selection;
    this.#near = near;
    this.element.addEventListener("focusin", (event) => this.#follow(event));
    addEventListener("scroll", this.#scrolled, { passive: true });
    this.#resized.observe(this.element);
  }

  close() {
    removeEventListener("scroll", this.#scrolled);
    this.#resized.disconnect();
    cancelAnimationFrame(this.#frame);
    clearTimeout(this.#settled);
  }

  get columns() {
    return this.#columns;
  }

  /** The photo that the keyboard is at. */
  get current() {
    return this.#list.photos[Math.min(this.#current, this.#list.photos.length - 1)];
  }

  /** How many rows are seen at once, at least one. */
  get rowsSeen() {
    return Math.max(1, Math.floor(innerHeight / this.#rowHeight));
  }

  /** What is seen at the top: the photo and how far above the view's edge it begins; null at the very top. */
  get place() {
    const above = this.#above();
    if (above <= 0) return null;
    const at = Math.floor(above / this.#rowHeight) * this.#columns;
    const photo = this.#list.photos[at];
    return photo ? { id: photo.id, at, hidden: above % this.#rowHeight } : null;
  }

  /** Go back to a place. */
  restore({ at, hidden }) {
    this.#measure();
    const top = scrollY + this.element.getBoundingClientRect().top;
    scrollTo(0, top - stickyHeight() + Math.floor(at / this.#columns) * this.#rowHeight + hidden);
    this.update();
  }

  /** Put the keyboard to a photo and bring it into view. */
  goTo(index, { focus = true } = {}) {
    if (!this.#list.photos.length) return;
    this.#current = Math.max(0, Math.min(index, this.#list.photos.length - 1));
    this.#reveal(this.#current);
    this.update();
    if (focus) this.#tiles.get(this.current.id)?.focus();
  }

  /** Draw what is to be seen, as soon as the browser draws. */
  later() {
    this.#frame ??= requestAnimationFrame(() => this.update());
  }

  update() {
    cancelAnimationFrame(this.#frame);
    this.#frame = null;
    const photos = this.#list.photos;
    this.element.style.height = `${Math.ceil(photos.length / this.#columns) * this.#rowHeight}px`;
    const [first, end] = this.#window(photos.length);
    const wanted = new Set();
    for (let at = first; at < end; at++) wanted.add(at);
    if (photos.length) wanted.add(Math.min(this.#current, photos.length - 1)); // what has the focus stays
    const order = [...wanted].sort((a, b) => a - b);
    this.#drop(new Set(order.map((at) => photos[at].id)));
    // In the page in their order as well, for who reads it; those that are there already aren't moved.
    let next = this.element.firstChild;
    for (const at of order) {
      const { element } = this.#show(photos[at], at, photos.length);
      if (element === next) next = next.nextSibling;
      else this.element.insertBefore(element, next);
    }
    const ahead = (AHEAD_SCREENS * innerHeight) / this.#rowHeight;
    if (!this.#list.done && end + ahead * this.#columns >= photos.length) this.#near();
  }

  #show(photo, at, of) {
    let tile = this.#tiles.get(photo.id);
    if (!tile) {
      tile = new Tile(photo.id, this.#list.filters);
      this.#tiles.set(photo.id, tile);
    }
    const [column, row] = [at % this.#columns, Math.floor(at / this.#columns)];
    const style = {
      width: `${this.#tileWidth}px`,
      height: `${this.#rowHeight - GAP_PX}px`,
      transform: `translate(${column * (this.#tileWidth + GAP_PX)}px, ${row * this.#rowHeight}px)`,
    };
    const selected = this.#selection.has(photo.id);
    tile.show(photo, style, { selected, current: at === this.#current, at, of, eager: !this.#moving });
    return tile;
  }

  #drop(kept) {
    for (const [id, tile] of this.#tiles) {
      if (kept.has(id)) continue;
      tile.element.remove();
      this.#tiles.delete(id);
    }
  }

  get #rowHeight() {
    return Math.round(this.#tileWidth * 0.75) + CAPTION_PX + GAP_PX;
  }

  #above() {
    return stickyHeight() - this.element.getBoundingClientRect().top;
  }

  #window(count) {
    const above = this.#above();
    const around = innerHeight * AROUND_SCREENS;
    const first = Math.max(0, Math.floor((above - around) / this.#rowHeight));
    const end = Math.max(0, Math.ceil((above + innerHeight + around) / this.#rowHeight));
    return [Math.min(first * this.#columns, count), Math.min(end * this.#columns, count)];
  }

  #measure() {
    const width = this.element.clientWidth;
    if (!width) return;
    const columns = Math.max(2, Math.floor((width + GAP_PX) / (NARROWEST_PX + GAP_PX)));
    const tileWidth = Math.floor((width - GAP_PX * (columns - 1)) / columns);
    if (columns === this.#columns && tileWidth === this.#tileWidth) return;
    this.#columns = columns;
    this.#tileWidth = tileWidth;
    this.update();
  }

  #reveal(index) {
    const top = this.element.getBoundingClientRect().top + Math.floor(index / this.#columns) * this.#rowHeight;
    const edge = stickyHeight() + GAP_PX;
    if (top < edge) scrollBy(0, top - edge);
    else if (top + this.#rowHeight > innerHeight) scrollBy(0, top + this.#rowHeight + GAP_PX - innerHeight);
  }

  #follow(event) {
    const id = event.target.closest("li")?.dataset.id;
    const at = id ? this.#list.indexOf(id) : -1;
    if (at >= 0 && at !== this.#current) {
      this.#current = at;
      this.later();
    }
  }

  #scrolled = () => {
    this.#moving = true;
    clearTimeout(this.#settled);
    this.#settled = setTimeout(() => {
      this.#moving = false;
      this.update();
    }, SETTLED_MS);
    this.later();
  };
}

// The bar stays at the view's top, over what scrolls.
function stickyHeight() {
  return document.querySelector(".bar").offsetHeight;
}
