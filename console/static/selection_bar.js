// What can be done with the photos that are selected.

import { download, each, remove, reprocess } from "./bulk.js";
import { h, replace } from "./dom.js";
import { count } from "./format.js";
import { may } from "./me.js";
import { confirm, tell } from "./messages.js";

const MANY_DOWNLOADS = 10;

/** `{element, show, selectAll, remove}` */
export function selectionBar(list, selection) {
  const said = h("span", { role: "status" });
  const writes = may("photos:write");
  const buttons = h("div", { class: "uploads-buttons" });
  const element = h("section", { class: "selection", "aria-label": "Selection", hidden: true }, said, buttons);
  const bar = {
    element,
    show() {
      if (element.dataset.busy) return;
      element.hidden = !selection.size;
      said.textContent = `${count(selection.size)} selected`;
    },
    async selectAll() {
      await busy("Selecting all…", () => list.until(() => !element.isConnected));
      if (!element.isConnected) return;
      selection.all(list.photos);
      if (!list.done) tell(`Not all are selected: ${photos(list.photos.length)} could be loaded.`, { error: true });
    },
    remove: () => writes && askAndRemove(),
  };
  const all = [
    h("button", { class: "quiet", onclick: () => bar.selectAll() }, "Select all"),
    may("originals:read") && h("button", { class: "quiet", onclick: () => fetchAll() }, "Download"),
    writes && h("button", { class: "quiet", onclick: () => reprocessAll() }, "Reprocess"),
    writes && h("button", { class: "quiet bad", onclick: () => askAndRemove() }, "Delete…"),
    h("button", { class: "quiet", onclick: () => selection.clear() }, "Clear"),
  ];
  replace(buttons, all);

  async function busy(text, work) {
    element.hidden = false;
    element.dataset.busy = "true";
    buttons.inert = true;
    said.textContent = text;
    try {
      return await work((done, of) => (said.textContent = `${text} ${count(done)} of ${count(of)}`));
    } catch (problem) {
      tell(problem.message, { error: true });
      return [];
    } finally {
      delete element.dataset.busy;
      buttons.inert = false;
      bar.show();
    }
  }

  async function askAndRemove() {
    const ids = selection.ids;
    const what = photos(ids.length);
    const content = h("p", {}, "Their files, previews and metadata are removed. There is no way back.");
    if (!(await confirm({ title: `Delete ${what}?`, content, act: `Delete ${what}`, dangerous: true }))) return;
    const problems = await busy("Deleting…", (told) => each(ids, async (id) => { await remove(id); list.remove(id); }, (done) => told(done, ids.length)));
    ended("deleted", ids.length, problems);
  }

  async function reprocessAll() {
    const ids = selection.ids;
    const problems = await busy("Asking…", (told) => each(ids, reprocess, (done) => told(done, ids.length)));
    selection.clear();
    ended("to be processed anew", ids.length, problems);
  }

  async function fetchAll() {
    const ids = selection.ids;
    const content = h("p", {}, "They are downloaded one by one. The browser may ask whether this page may do that.");
    if (ids.length > MANY_DOWNLOADS && !(await confirm({ title: `Download ${photos(ids.length)}?`, content, act: "Download" }))) return;
    const problems = await busy("Downloading…", () => download(ids));
    if (problems.length) ended("downloaded", ids.length, problems);
  }

  return bar;
}

function photos(number) {
  return number === 1 ? "1 photo" : `${count(number)} photos`;
}

function ended(what, of, problems) {
  if (of > problems.length) tell(`${photos(of - problems.length)} ${what}.`);
  if (problems.length) tell(`${photos(problems.length)} not: ${problems[0][1].message}`, { error: true });
}
