// What the uploads are doing, at the page's foot, whatever view is shown.

import { h, replace } from "./dom.js";
import { refusal } from "./errors.js";
import { bytes, count } from "./format.js";
import { tell } from "./messages.js";
import { add, cancel, cancelAll, clear, isLive, onUploads, retry, uploads } from "./uploads.js";

const ROWS = 60; // of more than that the rest is only counted
const EVERY_MS = 100;

const heading = h("h2", { id: "uploads-title" });
const bar = h("progress", { max: 1, "aria-label": "All uploads" });
const rows = h("ul", { class: "uploads-list", role: "list", tabindex: "0", "aria-label": "Files" });
const spoken = h("p", { class: "hidden", role: "status" });
const buttons = h("div", { class: "uploads-buttons" });
const panel = h("section", { class: "uploads", "aria-labelledby": "uploads-title", hidden: true }, h("header", {}, heading, buttons), bar, rows, spoken);
const drawn = new Map();
let timer = null;
let ticking = null;

/** Upload files, and show how it goes. */
export function upload(files) {
  if (files.length) add(files);
  else tell("There was no file in it.");
}

/** Put the panel into the page. */
export function beginPanel() {
  document.body.append(panel);
  onUploads(() => (timer ??= setTimeout(draw, EVERY_MS)));
}

function draw() {
  timer = null;
  const all = uploads();
  const live = all.filter(isLive);
  if (!live.length && all.length && all.every((one) => one.state === "done" || one.state === "cancelled")) return ended(all);
  panel.hidden = !all.length;
  const refused = all.filter((one) => one.state === "refused" || one.state === "failed");
  const done = all.filter((one) => one.state === "done").length;
  heading.textContent = live.length ? `Uploading: ${count(done)} of ${count(all.length)} done` : `${count(done)} of ${count(all.length)} uploaded`;
  bar.value = part(all);
  clearTimeout(ticking);
  if (live.some((one) => one.state === "resting")) ticking = setTimeout(draw, 1000); // they count down
  say(live.length ? "" : `${heading.textContent}. ${count(refused.length)} not taken.`);
  drawButtons(live, refused);
  drawRows([...refused, ...live.filter((one) => one.state !== "waiting"), ...live.filter((one) => one.state === "waiting")]);
}

function say(text) {
  if (spoken.textContent !== text) spoken.textContent = text;
}

function ended(all) {
  const done = all.filter((one) => one.state === "done");
  const there = done.filter((one) => one.existed).length;
  if (done.length) tell(`${count(done.length)} uploaded${there ? `, ${count(there)} of them were here already` : ""}.`);
  panel.hidden = true;
  clear();
}

function part(all) {
  const counted = all.filter((one) => one.state !== "cancelled");
  const total = counted.reduce((sum, one) => sum + one.file.size + 1, 0);
  const sent = counted.reduce((sum, one) => sum + (isLive(one) ? Math.min(one.sent, one.file.size) : one.file.size + 1), 0);
  return total ? sent / total : 1;
}

function drawButtons(live, refused) {
  const failed = refused.filter((one) => one.state === "failed");
  const wanted = [
    failed.length && ["Retry all", () => failed.forEach(retry)],
    live.length && ["Cancel all", cancelAll],
    !live.length && ["Close", clear],
  ].filter(Boolean);
  const texts = wanted.map(([text]) => text).join();
  if (buttons.dataset.texts === texts) return; // a button under the pointer stays the same one
  buttons.dataset.texts = texts;
  replace(buttons, wanted.map(([text, act]) => h("button", { class: "quiet", onclick: act }, text)));
}

function drawRows(shown) {
  const some = shown.slice(0, ROWS);
  for (const one of some) {
    if (!drawn.has(one)) drawn.set(one, row(one));
    drawn.get(one).show();
  }
  for (const one of drawn.keys()) if (!some.includes(one)) drawn.delete(one);
  const wanted = some.map((one) => drawn.get(one).element);
  const rest = shown.length - some.length;
  if (rest) wanted.push(h("li", { class: "faint" }, `and ${count(rest)} more`));
  if (rest || wanted.length !== rows.children.length || wanted.some((element, at) => rows.children[at] !== element)) replace(rows, wanted);
}

function row(one) {
  const progress = h("progress", { max: Math.max(1, one.file.size), "aria-label": one.name });
  const said = h("span", { class: "said" });
  const button = h("button", { class: "quiet" });
  const element = h("li", {}, h("span", { class: "name", title: one.name }, one.name), button, progress, said);
  button.onclick = () => (isLive(one) ? cancel(one) : retry(one));
  const show = () => {
    progress.value = one.sent;
    progress.hidden = !isLive(one);
    said.textContent = told(one);
    element.dataset.state = one.state;
    button.hidden = one.state === "refused";
    const act = isLive(one) ? "Cancel" : "Retry";
    button.textContent = act;
    button.setAttribute("aria-label", `${act} ${one.name}`);
  };
  return { element, show };
}

function told(one) {
  if (one.state === "waiting") return `${bytes(one.file.size)}, waits`;
  if (one.state === "resting") return `${refusal(one.problem)} Again in ${Math.max(1, Math.ceil((one.againAt - Date.now()) / 1000) || 1)} s.`;
  if (one.state === "failed" || one.state === "refused") return refusal(one.problem);
  if (one.sent >= one.file.size) return "Being stored…";
  return `${bytes(one.sent)} of ${bytes(one.file.size)}`;
}
