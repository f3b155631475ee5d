// Which photos are selected, by ids: it outlives the tiles, which come and go as the grid scrolls.

export class Selection {
  #ids = new Set();
  #anchor = null;
  #changed;

  /** `changed()` is called after each change. */
  constructor(changed) {
    this.#changed = changed;
  }

  get ids() {
    return [...this.#ids];
  }

  get size() {
    return this.#ids.size;
  }

  has(id) {
    return this.#ids.has(id);
  }

  /** Select it if it isn't, and the other way round; ranges begin here. */
  toggle(id) {
    this.#anchor = id;
    if (!this.#ids.delete(id)) this.#ids.add(id);
    this.#changed();
  }

  /** Select all from where the last selection began up to this one, in the order of `photos`. */
  extend(id, photos) {
    const from = photos.findIndex((photo) => photo.id === this.#anchor);
    const to = photos.findIndex((photo) => photo.id === id);
    if (from < 0) return this.toggle(id);
    for (const photo of photos.slice(Math.min(from, to), Math.max(from, to) + 1)) this.#ids.add(photo.id);
    this.#changed();
  }

  all(photos) {
    for (const photo of photos) this.#ids.add(photo.id);
    this.#changed();
  }

  clear() {
    this.#ids.clear();
    this.#changed();
  }

  /** Forget those that aren't there any more. */
  remove(id) {
    if (this.#ids.delete(id)) this.#changed();
  }
}
