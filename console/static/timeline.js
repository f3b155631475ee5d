// What was done with a photo: each task with its attempts, what they waited for, how they ended, what comes next.

import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { plain } from "./errors.js";
import { duration, when } from "./format.js";
import { showFailure } from "./messages.js";
import { oneAtATime } from "./one_at_a_time.js";

const KINDS = { preview: "Previews", exif: "Metadata", analysis: "Analysis" };
const STATES = {
  pending: "Waits", queued: "Waits for a worker", processing: "Being done", completed: "Done",
  failed: "Failed", cancelled: "Cancelled", discarded: "Given up",
};
const SIGNS = { completed: "✓", failed: "!", cancelled: "×", discarded: "×" };
const MOST = 12; // newest tasks with their attempts; older ones are counted

/** A section; `load()` fetches the tasks anew, `close()` stops its clocks. */
export function timeline(id, signal) {
  const inside = h("div", {});
  const element = h("section", { class: "card", "aria-labelledby": "timeline-title" }, h("h2", { id: "timeline-title" }, "What was done"), inside);
  const clocks = new Set();
  const ticking = setInterval(() => clocks.forEach((tick) => tick()), 1000);
  const load = oneAtATime(async () => {
    try {
      const { tasks, next_cursor: more } = await get(`/v1/tasks?photo_id=${id}&limit=${MOST}`, { signal });
      const whole = await Promise.all(tasks.map((task) => get(`/v1/tasks/${task.id}`, { signal }).catch((error) => (error.name === "AbortError" ? Promise.reject(error) : { ...task, history: [] }))));
      const open = new Set([...inside.querySelectorAll("details[open]")].map((fold) => fold.dataset.key));
      clocks.clear();
      replace(inside, whole.map((task) => drawTask(task, clocks)), more && h("p", { class: "faint" }, "There are older tasks."), !whole.length && h("p", { class: "faint" }, "There are no tasks any more: what is done is forgotten after some days."));
      for (const fold of inside.querySelectorAll("details")) fold.open = open.has(fold.dataset.key);
    } catch (error) {
      showFailure(inside, error, load);
    }
  });
  return { element, load, close: () => clearInterval(ticking) };
}

function drawTask(task, clocks) {
  const state = h("span", { class: `badge ${task.state}` }, h("span", { "aria-hidden": "true" }, SIGNS[task.state] ?? "…"), STATES[task.state] ?? task.state);
  const head = h("h3", {}, KINDS[task.kind] ?? task.kind, " ", state);
  return h("article", { class: "task" }, head, h("ol", { class: "attempts" }, steps(task), next(task, clocks)));
}

// Waits and attempts in turn. The times between are what they waited.
function steps(task) {
  let free = task.created_at;
  return task.history.map((attempt) => {
    const waited = (new Date(attempt.started_at) - new Date(free)) / 1000;
    free = attempt.finished_at ?? attempt.started_at;
    return [waited > 0.0005 && h("li", { class: "faint" }, `Waited ${duration(waited)}`), drawAttempt(task, attempt)];
  });
}

function drawAttempt(task, { number, worker, started_at: started, finished_at: finished, outcome, error, traceback }) {
  const ran = finished ? `${duration((new Date(finished) - new Date(started)) / 1000)}` : "until now";
  const how = { completed: "done", failed: "failed", retried: "failed, to be tried again", snoozed: "to be gone on with later", cancelled: "cancelled" }[outcome] ?? "being done";
  return h("li", { class: outcome ?? "processing" },
    h("span", {}, `Attempt ${number}: ${how}`), h("span", { class: "faint" }, ` · ${ran} · ${when(started)} · `, h("span", { class: "mono" }, worker)),
    error && h("p", {}, plain(error.type), " ", h("span", { class: "faint" }, error.detail)),
    traceback && h("details", { dataset: { key: `${task.id}-${started}` } }, h("summary", {}, "Where in the program"), h("pre", { tabindex: "0" }, traceback)));
}

function next(task, clocks) {
  if (task.state !== "pending" && task.state !== "queued") return task.history.length || !task.error ? null : h("li", { class: "failed" }, plain(task.error.type), " ", h("span", { class: "faint" }, task.error.detail));
  const text = h("span", {});
  const tick = () => {
    const seconds = Math.ceil((new Date(task.run_at) - Date.now()) / 1000);
    const first = task.kind === "exif" && task.history.length === 0;
    text.textContent = seconds <= 0 ? "Waits for a worker" : first ? `Waits for the previews, for ${duration(seconds)} at most` : `Next try in ${duration(seconds)}`;
  };
  tick();
  clocks.add(tick);
  return h("li", {}, text, h("span", { class: "faint" }, ` (attempt ${task.attempts + 1} of ${task.max_attempts})`));
}
