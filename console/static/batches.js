// What becomes of dead letters that were dealt with: how far it is, and how the requeued ones fare.

import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { count } from "./format.js";
import { live, write } from "./live.js";

const EVERY_MS = 2000;
const KEPT = "batches";
const PARTS = [
  ["completed", "good", "completed"],
  ["processing", "warn", "in hand"],
  ["waiting", "", "waiting"],
  ["failed", "bad", "failed again"],
  ["other", "", "cancelled or discarded"],
];

// Jobs of this page; what was requeued is kept for a reload too.
const jobs = [];

/** Show all of them in `root`, up to date until `signal`; `started(job)` adds one. */
export function showBatches(root, signal) {
  const shown = new Map();
  let refresh = () => {};
  const add = (job) => {
    const panel = jobPanel(job, () => {
      forget(job);
      shown.delete(job);
    });
    job.changed = () => {
      panel.update();
      store();
      refresh();
    };
    shown.set(job, panel);
    root.prepend(panel.element);
  };
  for (const job of jobs) add(job);
  for (const kept of stored()) if (!jobs.some((job) => job.batchId === kept.batchId)) add(remember(kept));
  refresh = live(() => Promise.all([...shown.values()].map((panel) => panel.refresh(signal))), { everyMs: EVERY_MS, signal });
  return {
    started(job) {
      add(remember(job));
      refresh();
    },
  };
}

function remember(job) {
  jobs.push(job);
  return job;
}

function forget(job) {
  jobs.splice(jobs.indexOf(job), 1);
  store();
}

/** Of those that were requeued as far as they will be. */
function store() {
  const told = jobs.filter((job) => job.action === "requeue" && job.requeued).map(({ action, batchId, total, done, requeued, joined, state, error }) => ({ action, batchId, total, done, requeued, joined, state, error }));
  sessionStorage.setItem(KEPT, JSON.stringify(told.slice(-5)));
}

// What ran when the page was left goes on no more: the page had asked for it piece by piece.
function stored() {
  try {
    const kept = JSON.parse(sessionStorage.getItem(KEPT)) ?? [];
    return kept.map((job) => (job.state === "running" ? { ...job, state: "interrupted" } : job));
  } catch {
    return [];
  }
}

function jobPanel(job, closed) {
  const words = h("p", { role: "status" });
  const bar = h("progress", { max: job.total, "aria-label": "Dealt with" });
  const fate = h("p", { class: "fate" });
  const share = h("div", { class: "share", "aria-hidden": "true" });
  const stop = h("button", { onclick: () => job.stop() }, "Stop");
  const close = h("button", { class: "quiet", onclick: () => (element.remove(), closed()) }, "Close");
  const element = h("section", { class: "card batch", "aria-label": job.action === "requeue" ? "Requeued tasks" : "Discarded tasks" }, h("header", { class: "head" }, words, h("p", { class: "switches" }, stop, close)), bar, share, fate);

  let settled = false;

  function update() {
    const running = job.state === "running";
    write(words, inWords(job));
    bar.value = job.done;
    bar.hidden = !running;
    stop.hidden = !running;
    close.hidden = running;
  }

  async function refresh(signal) {
    if (job.action !== "requeue" || !job.requeued || settled) return;
    try {
      const { states } = await get(`/v1/tasks/batches/${job.batchId}`, { signal });
      showFate(states);
      settled = job.state !== "running" && !["pending", "queued", "processing"].some((state) => states[state]);
    } catch {
      // the next look will tell
    }
  }

  function showFate(states) {
    const { completed = 0, processing = 0, pending = 0, queued = 0, failed = 0, cancelled = 0, discarded = 0 } = states;
    const counts = { completed, processing, waiting: pending + queued, failed, other: cancelled + discarded };
    const present = PARTS.filter(([name]) => counts[name]);
    write(fate, present.map(([name, , text]) => `${count(counts[name])} ${text}`).join(", ") || "Nothing is known of them any more.");
    replace(share, present.map(([name, level]) => h("span", { class: level, style: { flexGrow: counts[name] } })));
  }

  update();
  return { element, update, refresh };
}

function inWords({ action, state, total, done, requeued, joined, error }) {
  const did = action === "requeue" ? "requeued" : "discarded";
  const number = action === "requeue" ? requeued : done;
  if (state === "running") return `${count(done)} of ${count(total)} dealt with…`;
  if (state === "failed") return `${count(done)} of ${count(total)} ${did}, then: ${error}`;
  if (state === "stopped") return `Stopped: ${count(done)} of ${count(total)} ${did}.`;
  if (state === "interrupted") return `Interrupted when the page was left: ${count(done)} of ${count(total)} ${did}.`;
  return `${count(number)} ${number === 1 ? "task" : "tasks"} ${did}.${joined > 0 ? ` ${count(joined)} had a newer one for the same photo already.` : ""}`;
}
