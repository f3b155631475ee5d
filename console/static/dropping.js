// Files from people: dropped anywhere on the page, picked, pasted; folders with all that is in them.

import { h } from "./dom.js";

// What systems leave in folders, and nobody means to upload.
const NOT_MEANT = /^(\.|Thumbs\.db$|desktop\.ini$)/i;

/** Have `take(files)` called with what is dropped or pasted anywhere on the page. */
export function takeFiles(take) {
  const hint = h("div", { class: "drop-hint", hidden: true }, h("p", {}, "Drop photos or a folder to upload"));
  document.body.append(hint);
  let inside = 0;
  const show = (shown) => (hint.hidden = !shown);
  addEventListener("dragenter", (event) => {
    if (!hasFiles(event)) return;
    inside += 1;
    show(true);
  });
  addEventListener("dragleave", (event) => {
    if (!hasFiles(event)) return;
    inside = Math.max(0, inside - 1);
    if (!inside) show(false);
  });
  addEventListener("dragover", (event) => {
    if (hasFiles(event)) event.preventDefault();
  });
  addEventListener("drop", async (event) => {
    inside = 0;
    show(false);
    if (!hasFiles(event)) return;
    event.preventDefault();
    take(await dropped(event.dataTransfer));
  });
  addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    if (files.length) take(files);
  });
}

/** A button that lets files be picked; with `folder`, a folder. */
export function picker(text, take, { folder = false, main = false } = {}) {
  const input = h("input", { type: "file", multiple: true, webkitdirectory: folder, hidden: true });
  input.onchange = () => {
    take([...input.files].filter((file) => !folder || isMeant(file.name)));
    input.value = "";
  };
  return h("span", { class: "picker" }, h("button", { class: main ? "main" : null, onclick: () => input.click() }, text), input);
}

function hasFiles(event) {
  return event.dataTransfer?.types.includes("Files");
}

function isMeant(name) {
  return !NOT_MEANT.test(name);
}

// The items are gone once the event is over, so all entries are taken first.
async function dropped(transfer) {
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry?.() ?? null);
  if (!entries.some((entry) => entry?.isDirectory)) return [...transfer.files];
  const found = [];
  for (const entry of entries) if (entry) await walk(entry, found);
  return found;
}

async function walk(entry, found) {
  if (entry.isFile) {
    if (isMeant(entry.name)) found.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    return;
  }
  const reader = entry.createReader();
  // A reader gives a hundred at a time, until it gives none.
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const each of some) await walk(each, found);
  }
}
