// One photo: large, with all that is known of it and all that was done with it.

import { analysisCard } from "./analysis.js";
import { get } from "./api.js";
import { download, remove, reprocess } from "./bulk.js";
import { h, replace } from "./dom.js";
import { plain } from "./errors.js";
import { subscribe } from "./events.js";
import { described, location as located } from "./exif.js";
import { bytes, when } from "./format.js";
import { follow, listFor } from "./list.js";
import { may } from "./me.js";
import { confirm, showFailure, tell } from "./messages.js";
import { walking } from "./neighbours.js";
import { oneAtATime } from "./one_at_a_time.js";
import { picture } from "./picture.js";
import { rawTags } from "./raw_tags.js";
import { stateBadge } from "./tile.js";
import { timeline } from "./timeline.js";

const TOGETHER_MS = 200;

export function show(root, { groups: [id], query, signal }) {
  const view = new PhotoView(root, id, query, signal);
  return () => view.close();
}

class PhotoView {
  #id;
  #signal;
  #list;
  #walk;
  #title = h("h1", {});
  #badge = h("span", {});
  #stage = picture();
  #facts = h("section", { class: "card", "aria-label": "About the photo" });
  #tasks;
  #analysis;
  #look = oneAtATime(() => this.#load());
  #found = false;
  #closed = false;
  #timer = null;
  #ends;

  constructor(root, id, query, signal) {
    this.#id = id;
    this.#signal = signal;
    this.#list = listFor(query);
    this.#walk = walking(this.#list, id);
    this.#tasks = timeline(id, signal);
    this.#analysis = analysisCard(id);
    const head = h("div", { class: "photo-head" }, this.#walk.back, this.#title, this.#badge, h("span", { class: "photo-actions" }, this.#actions()));
    const side = h("div", { class: "photo-side" }, this.#facts, rawTags(id, signal), this.#tasks.element, this.#analysis.element);
    replace(root, head, h("div", { class: "photo" }, h("div", { class: "stage" }, this.#stage.element, this.#walk.arrows), side));
    const keys = (event) => this.#walk.pressed(event);
    addEventListener("keydown", keys);
    this.#ends = [() => removeEventListener("keydown", keys), subscribe((event) => this.#heard(event))];
    this.#look();
  }

  close() {
    this.#closed = true;
    clearTimeout(this.#timer);
    this.#tasks.close();
    for (const end of this.#ends) end();
  }

  async #load() {
    try {
      const photo = await get(`/v1/photos/${this.#id}`, { signal: this.#signal });
      if (this.#closed) return;
      this.#draw(photo);
      if (!this.#found) this.#walk.find(photo, this.#signal);
      this.#found = true;
    } catch (error) {
      if (this.#closed) return;
      if (error.status === 404) this.#gone();
      // What is shown stays; the next event, or the next poll, looks again.
      else if (!this.#found) showFailure(this.#facts, error, () => this.#look());
      return;
    }
    await this.#tasks.load();
  }

  #heard(event) {
    follow(this.#list, event);
    const ours = event.data.photo_id === this.#id;
    if (ours && event.type === "photo-deleted") return this.#gone();
    // Many come at once; a look tells them all.
    if (ours || event.type === "reset" || event.type === "poll") this.#timer ??= setTimeout(() => this.#again(), TOGETHER_MS);
  }

  #again() {
    this.#timer = null;
    this.#look();
  }

  #gone() {
    this.close();
    this.#list.remove(this.#id);
    replace(document.getElementById("view"), h("div", { class: "empty" }, h("p", { class: "large" }, "There is no such photo"), h("p", {}, "It was deleted, or it is another's."), h("a", { class: "button", href: this.#walk.home }, "All photos")));
  }

  #draw(photo) {
    const name = photo.filename ?? "Photo without a name";
    document.title = `${name} · Safelight`;
    this.#title.textContent = name;
    this.#title.title = name;
    replace(this.#badge, stateBadge(photo.state));
    this.#stage.show(photo, name);
    this.#analysis.show(photo.analysis);
    const exif = photo.exif ?? {};
    const lines = [...described(exif), ["Place", located(exif)], ["Size", photo.width && `${photo.width} × ${photo.height} px`],
      ["File", `${bytes(photo.size_bytes)}, ${photo.media_type}`], ["Uploaded", when(photo.created_at)], ["SHA-256", h("span", { class: "mono" }, photo.sha256)]];
    replace(this.#facts,
      photo.tasks.filter((task) => task.state === "failed" && task.error).map((task) => h("p", { class: "failure" }, h("strong", {}, task.kind === "exif" ? "Metadata: " : task.kind === "preview" ? "Previews: " : "Analysis: "), plain(task.error.type), " ", h("span", { class: "faint" }, task.error.detail))),
      photo.warnings.map((text) => h("p", { class: "notice" }, text)),
      h("dl", { class: "facts" }, lines.filter(([, value]) => value).map(([label, value]) => [h("dt", {}, label), h("dd", {}, value)])));
  }

  #actions() {
    const writes = may("photos:write");
    return [
      may("originals:read") && h("button", { onclick: () => this.#download() }, "Download"),
      writes && h("button", { onclick: () => this.#reprocess() }, "Reprocess"),
      writes && h("button", { class: "bad", onclick: () => this.#remove() }, "Delete…"),
    ];
  }

  async #download() {
    for (const [, problem] of await download([this.#id])) tell(problem.message, { error: true });
  }

  async #reprocess() {
    try {
      await reprocess(this.#id);
      tell("It will be processed anew. What there is stays until then.");
    } catch (problem) {
      tell(problem.message, { error: true });
    }
  }

  async #remove() {
    const content = h("p", {}, "Its file, previews and metadata are removed. There is no way back.");
    if (!(await confirm({ title: `Delete ${this.#title.textContent}?`, content, act: "Delete", dangerous: true }))) return;
    const onwards = this.#walk.afterDeletion();
    try {
      await remove(this.#id);
      this.#list.remove(this.#id);
      tell("Deleted.");
      // Who went elsewhere meanwhile stays there.
      if (!this.#signal.aborted) location.replace(onwards);
    } catch (problem) {
      tell(problem.message, { error: true });
    }
  }
}
