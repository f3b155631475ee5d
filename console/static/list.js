// The owner's photos that some filters let through, newest first: loaded page by page, kept up to date by events.

import { get } from "./api.js";
import { oneAtATime } from "./one_at_a_time.js";

const FIRST = 60;
const PAGE = 200;
const IDS = 50; // GET /v1/photos takes so many `id`s
const TOGETHER_MS = 250;

/** The filters that stand in an address and in the API's query alike. */
export const FILTERS = ["state", "taken_after", "taken_before"];

/** Whether a photo stands before another in a list. */
export function isNewer(photo, other) {
  return photo.created_at > other.created_at || (photo.created_at === other.created_at && photo.id > other.id);
}

export class PhotoList {
  /** Those that are there, newest first. */
  photos = [];
  /** Whether all have been loaded. */
  done = false;
  /** New ones wait in `fresh` while this is set, so that what someone looks at doesn't move. */
  holding = false;
  fresh = [];
  #cursor = null;
  #loading = null;
  #known = new Map();
  #dirty = new Set();
  #age = 0; // how often it was loaded anew: answers to what was asked before that are old
  #meanwhile = null; // what changes while it is loaded anew
  #removed = new Set(); // known to be gone, though an answer under way may still have them
  #timer = null;
  #listeners = new Set();

  /** `filters`: an object with some of FILTERS. */
  constructor(filters) {
    this.filters = filters;
  }

  /** Have `listener()` called after each change; returns the function that ends it. */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get(id) {
    return this.#known.get(id);
  }

  indexOf(id) {
    return this.#known.has(id) ? this.photos.findIndex((photo) => photo.id === id) : -1;
  }

  /** Load the next page, once at a time. Raises Problem. */
  more(limit = this.photos.length ? PAGE : FIRST) {
    const age = this.#age;
    this.#loading ??= this.#page(this.#cursor, limit)
      .then((page) => {
        if (age !== this.#age) return; // its place in the list isn't where it was
        this.#cursor = page.next_cursor;
        this.done = page.next_cursor === null;
        for (const photo of page.photos) if (!this.#known.has(photo.id) && !this.#removed.has(photo.id)) this.#append(photo);
        this.#tell();
      })
      .finally(() => {
        if (age === this.#age) this.#loading = null;
      });
    return this.#loading;
  }

  /** Load pages until `enough()`. Raises Problem. */
  async until(enough) {
    while (!this.done && !enough()) await this.more(PAGE);
  }

  /** Load everything anew, as far as it was loaded. Raises Problem. */
  reload = oneAtATime(async () => {
    const anew = new PhotoList(this.filters);
    const wanted = this.photos.length;
    const meanwhile = (this.#meanwhile = new Set());
    try {
      do await anew.more(wanted > FIRST ? PAGE : FIRST);
      while (!anew.done && anew.photos.length < wanted);
    } finally {
      this.#meanwhile = null;
    }
    this.#become(anew);
    meanwhile.forEach((id) => this.touch(id)); // its pages may be older than what was heard
  });

  #become(anew) {
    this.#age += 1;
    this.#loading = null;
    this.photos = anew.photos;
    this.done = anew.done;
    this.fresh = [];
    this.#cursor = anew.#cursor;
    this.#known = anew.#known;
    for (const id of this.#removed) this.#drop(id);
    this.#tell();
  }

  /** Look for what is new and for what isn't finished, without being told of it. Raises Problem. */
  async poll() {
    if (!this.photos.length) return this.reload();
    const age = this.#age;
    const page = await this.#page(null, FIRST);
    if (age !== this.#age) return;
    this.#merge([], page.photos);
    const open = this.photos.filter((photo) => photo.state === "processing").slice(0, IDS);
    open.forEach((photo) => this.touch(photo.id));
  }

  /** Something happened to that photo: look at it soon, together with others. */
  touch(id) {
    this.#dirty.add(id);
    this.#meanwhile?.add(id);
    this.#timer ??= setTimeout(() => this.#refresh(), TOGETHER_MS);
  }

  /** It is known to be gone. */
  remove(id) {
    this.#removed.add(id);
    this.#dirty.delete(id);
    if (this.#drop(id)) this.#tell();
  }

  /** Let in what waits in `fresh`. */
  release() {
    if (!this.fresh.length) return;
    const fresh = this.fresh;
    this.fresh = [];
    for (const photo of fresh) this.#insert(photo);
    this.#tell();
  }

  async #refresh() {
    const ids = [...this.#dirty].slice(0, IDS);
    ids.forEach((id) => this.#dirty.delete(id));
    const age = this.#age;
    try {
      const query = new URLSearchParams([...Object.entries(this.filters), ["brief", "true"], ["limit", IDS]]);
      ids.forEach((id) => query.append("id", id));
      const { photos } = await get(`/v1/photos?${query}`);
      if (age === this.#age) this.#merge(ids, photos);
      else ids.forEach((id) => this.#dirty.add(id));
    } catch (error) {
      if (error.passes) ids.forEach((id) => this.#dirty.add(id));
    }
    // Again soon if there is more, and later if it failed.
    const wait = this.#dirty.size >= IDS || !ids.some((id) => this.#dirty.has(id)) ? TOGETHER_MS : 3000;
    this.#timer = this.#dirty.size ? setTimeout(() => this.#refresh(), wait) : null;
  }

  #page(cursor, limit) {
    const query = new URLSearchParams({ ...this.filters, brief: true, limit });
    if (cursor) query.set("cursor", cursor);
    return get(`/v1/photos?${query}`);
  }

  // What was asked for and isn't found doesn't fit the filters any more, or is gone.
  #merge(asked, answer) {
    const found = answer.filter((photo) => !this.#removed.has(photo.id));
    for (const id of [...asked, ...found.map((photo) => photo.id)]) this.#meanwhile?.add(id);
    const ids = new Set(found.map((photo) => photo.id));
    for (const id of asked) if (!ids.has(id)) this.#drop(id);
    for (const photo of found) {
      if (this.#known.has(photo.id)) {
        this.photos[this.indexOf(photo.id)] = photo;
        this.#known.set(photo.id, photo);
      } else if (this.holding && this.photos.length && isNewer(photo, this.photos[0])) {
        this.fresh = [...this.fresh.filter((other) => other.id !== photo.id), photo];
      } else {
        this.#insert(photo);
      }
    }
    this.#tell();
  }

  #insert(photo) {
    const at = this.photos.findIndex((other) => isNewer(photo, other));
    if (at >= 0) this.photos.splice(at, 0, photo);
    else if (this.done) this.photos.push(photo);
    else return; // it comes with its page
    this.#known.set(photo.id, photo);
  }

  #append(photo) {
    this.photos.push(photo);
    this.#known.set(photo.id, photo);
  }

  #drop(id) {
    this.fresh = this.fresh.filter((photo) => photo.id !== id);
    if (!this.#known.delete(id)) return false;
    this.photos = this.photos.filter((photo) => photo.id !== id);
    return true;
  }

  #tell() {
    for (const listener of [...this.#listeners]) listener();
  }
}

let kept = { address: null, list: null };

/** The list for these filters: the one that there was before, if it had the same. */
export function listFor(query) {
  const filters = Object.fromEntries(FILTERS.filter((name) => query.get(name)).map((name) => [name, query.get(name)]));
  const address = JSON.stringify(filters);
  if (kept.address !== address) kept = { address, list: new PhotoList(filters) };
  return kept.list;
}

/** Keep a list up to date with an event of events.js. */
export function follow(list, { type, data }) {
  if (type === "reset") list.reload().catch(() => {});
  else if (type === "poll") list.poll().catch(() => {});
  else if (type === "photo-deleted") list.remove(data.photo_id);
  else if (SHOWN.has(type) || (type === "task-completed" && data.kind === "preview")) list.touch(data.photo_id);
}
const SHOWN = new Set(["photo-accepted", "photo-healed", "photo-processing", "photo-ready", "photo-failed"]);
