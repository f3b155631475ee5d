// Files from people: dropped anywhere on the page, picked, pasted; folders with all that is in them.

import { h } from "./dom.js";
import { count } from "./format.js";
import { tell } from "./messages.js";

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
    const { files, unreadable } = await dropped(event.dataTransfer);
    if (unreadable) tell(`${count(unreadable)} of what was dropped can't be read, and ${unreadable === 1 ? "wasn't" : "weren't"} taken.`, { error: true });
    if (files.length || !unreadable) take(files);
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
    take([...input.files].filter((file) => !folder || file.webkitRelativePath.split("/").slice(1).every(isMeant)));
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
  if (!entries.some((entry) => entry?.isDirectory)) return { files: [...transfer.files], unreadable: 0 };
  const found = { files: [], unreadable: 0 };
  for (const entry of entries) if (entry && (entry.isDirectory || isMeant(entry.name))) await walk(entry, found);
  return found;
}

// One that can't be read is counted, and keeps no other from being taken.
async function walk(entry, found) {
  try {
    if (entry.isFile) found.files.push(await new Promise((resolve, reject) => entry.file(resolve, reject)));
    else await walkFolder(entry, found);
  } catch {
    found.unreadable += 1;
  }
}

async function walkFolder(entry, found) {
  const reader = entry.createReader();
  // A reader gives a hundred at a time, until it gives none.
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject));
    if (!some.length) return;
    for (const each of some) if (isMeant(each.name)) await walk(each, found);
  }
}
