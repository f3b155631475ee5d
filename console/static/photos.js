// All photos: a grid, filters, and what is done with those that are selected.

import { h, replace } from "./dom.js";
import { picker } from "./dropping.js";
import { subscribe } from "./events.js";
import { filterBar } from "./filters.js";
import { count } from "./format.js";
import { Grid } from "./grid.js";
import { keys } from "./grid_keys.js";
import { FILTERS, follow, listFor } from "./list.js";
import { may } from "./me.js";
import { failure } from "./messages.js";
import { place } from "./router.js";
import { Selection } from "./selection.js";
import { selectionBar } from "./selection_bar.js";
import { forget, keep, kept } from "./view_place.js";
import { upload } from "./upload_panel.js";

const HOLD_PX = 120; // scrolled that far, new photos are announced instead of pushed in
const AGAIN_MS = 4000;

export function show(root, { query, signal }) {
  const view = new PhotosView(root, query);
  signal.addEventListener("abort", () => view.close());
}

class PhotosView {
  #list;
  #grid;
  #selection = new Selection(() => this.#selected());
  #bar;
  #above = h("div", { class: "above" });
  #fresh = h("button", { class: "fresh main", hidden: true, onclick: () => this.#letIn() });
  #state = h("div", { class: "grid-state", role: "status" });
  #ends = [];
  #again = null;
  #closed = false;

  constructor(root, query) {
    this.#list = listFor(query);
    this.#grid = new Grid(this.#list, this.#selection, () => this.#load());
    this.#bar = selectionBar(this.#list, this.#selection);
    const uploads = may("photos:write") && h("div", { class: "pickers" }, picker("Upload files", upload, { main: true }), picker("Upload a folder", upload, { folder: true }));
    const filters = filterBar(this.#list.filters, (chosen) => (location.hash = place("/photos", chosen)));
    replace(root, h("div", { class: "photos-head" }, h("h1", {}, "Photos"), filters, uploads), this.#above, this.#fresh, this.#grid.element, this.#state, this.#bar.element);
    keys(this.#grid, this.#list, this.#selection, this.#bar);
    history.scrollRestoration = "manual";
    this.#ends = [
      this.#list.subscribe(() => this.#changed()),
      subscribe((event) => follow(this.#list, event)),
      this.#listen("scroll", () => this.#scrolled()),
      this.#listen("pagehide", () => keep(this.#list, this.#grid)),
    ];
    this.#begin();
  }

  close() {
    this.#closed = true;
    keep(this.#list, this.#grid);
    this.#list.holding = false;
    this.#list.release();
    clearTimeout(this.#again);
    for (const end of this.#ends) end();
    this.#grid.close();
    history.scrollRestoration = "auto";
  }

  // Where one was: after a reload the photos up to there have to be loaded first.
  async #begin() {
    const before = kept(this.#list);
    const loaded = this.#list.photos.length;
    if (loaded) this.#list.poll().catch(() => {});
    if (!loaded) await this.#load();
    if (before?.at > this.#list.photos.length) await this.#list.until(() => this.#closed || this.#list.photos.length > before.at).catch(() => {});
    requestAnimationFrame(() => {
      if (this.#closed) return;
      this.#changed();
      if (before) this.#restore(before);
      forget();
    });
  }

  #restore({ id, at, hidden, focused }) {
    const now = this.#list.indexOf(id);
    if (id) this.#grid.restore({ at: now < 0 ? at : now, hidden });
    const focus = focused ? this.#list.indexOf(focused) : -1;
    if (focus >= 0) this.#grid.goTo(focus);
  }

  async #load() {
    if (this.#again || this.#closed) return;
    try {
      await this.#list.more();
    } catch (problem) {
      if (this.#closed) return;
      replace(this.#state, failure(problem, () => this.#retry()));
      this.#again = setTimeout(() => this.#retry(), AGAIN_MS);
    }
  }

  #retry() {
    clearTimeout(this.#again);
    this.#again = null;
    this.#load();
  }

  #changed() {
    for (const id of this.#selection.ids) if (!this.#list.get(id)) this.#selection.remove(id);
    const { photos, done, fresh } = this.#list;
    if (!this.#again || photos.length) replace(this.#state, done && !photos.length && this.#nothing());
    this.#fresh.hidden = !fresh.length;
    this.#fresh.textContent = `${count(fresh.length)} new`;
    this.#grid.later();
  }

  #nothing() {
    const filtered = FILTERS.some((name) => this.#list.filters[name]);
    if (filtered) return h("div", { class: "empty" }, h("p", {}, "No photo is like that."), h("a", { class: "button", href: "#/photos" }, "Show all"));
    const told = may("photos:write") ? "Drop photos or a folder anywhere on this page, or paste one." : "Nothing has been uploaded yet.";
    return h("div", { class: "empty" }, h("p", { class: "large" }, "No photos yet"), h("p", {}, told));
  }

  #scrolled() {
    this.#list.holding = scrollY > HOLD_PX;
    if (!this.#list.holding) this.#list.release();
  }

  #letIn() {
    this.#list.release();
    scrollTo({ top: 0 });
  }

  #selected() {
    this.#bar?.show();
    this.#grid?.later();
  }

  #listen(name, listener) {
    addEventListener(name, listener, { passive: true });
    return () => removeEventListener(name, listener);
  }
}
