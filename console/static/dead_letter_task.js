// One failed task with its whole history; what becomes of it once it is requeued is seen here too.

import { get, send } from "./api.js";
import { h, replace } from "./dom.js";
import { plain } from "./errors.js";
import { duration, when } from "./format.js";
import { live, write } from "./live.js";
import { showFailure, tell } from "./messages.js";
import { titleOf } from "./queue_card.js";
import { place } from "./router.js";

const EVERY_MS = 2000;
const STATES = {
  pending: ["warn", "waits"],
  queued: ["warn", "queued"],
  processing: ["warn", "in hand"],
  completed: ["good", "completed"],
  failed: ["bad", "failed"],
  cancelled: ["", "cancelled"],
  discarded: ["", "discarded"],
};
const OUTCOMES = { completed: "completed", failed: "failed for good", retried: "failed, tried again", snoozed: "put off", cancelled: "cancelled" };

export function showTask(root, id, which, { act, signal }) {
  const stale = h("p", { class: "warn", role: "status" });
  const body = h("div", { class: "stack" });
  let shown = null;
  const refresh = live(load, { everyMs: EVERY_MS, signal });

  async function load() {
    try {
      const task = await get(`/v1/tasks/${encodeURIComponent(id)}`, { signal });
      const text = JSON.stringify(task);
      if (text !== shown) keeping(body, () => replace(body, page(task)));
      if (shown === null) replace(root, stale, body);
      shown = text;
      write(stale, "");
    } catch (error) {
      if (error.name === "AbortError") return;
      if (shown !== null) write(stale, `What is shown is old: ${error.message}`);
      else showFailure(root, error, () => refresh());
    }
  }

  function page(task) {
    const [level, state] = STATES[task.state];
    return [
      h("p", {}, h("a", { href: place("/dead-letters", which) }, "Back to the dead letters")),
      h("header", { class: "head" }, h("h1", {}, `${titleOf(task.kind)} task`), h("span", { class: `pill ${level}`, role: "status" }, state), task.state === "failed" && buttons(task)),
      task.error && h("section", { class: "card" }, h("h2", {}, task.error.type), h("p", {}, plain(task.error.type)), h("p", { class: "said" }, task.error.detail)),
      facts(task),
      h("section", { class: "card" }, h("h2", {}, "Attempts"), history(task.history)),
    ];
  }

  function buttons(task) {
    const discard = async () => {
      if (await act("discard", { ids: [task.id] }, "this task")) refresh();
    };
    return h("p", { class: "switches" }, h("button", { class: "quiet", onclick: discard }, "Discard"), h("button", { class: "main", onclick: () => requeue(task) }, "Requeue"));
  }

  /** One alone goes at once, before what is requeued in bulk. */
  async function requeue(task) {
    try {
      await send("POST", `/v1/tasks/${task.id}/requeue`);
      tell("Requeued: how it goes is seen here.");
    } catch (error) {
      tell(error.message, { error: true });
    }
    refresh();
  }
}

/** Draw anew; folds that were open are open again, and the focus is where it was, or in the view. */
function keeping(body, draw) {
  const open = new Set([...body.querySelectorAll("details[open]")].map((fold) => fold.dataset.attempt));
  const focused = body.contains(document.activeElement) && nameOf(document.activeElement);
  draw();
  for (const fold of body.querySelectorAll("details")) fold.open = open.has(fold.dataset.attempt);
  if (!focused) return;
  const same = [...body.querySelectorAll("a, button, summary, pre")].find((element) => nameOf(element) === focused);
  (same ?? document.getElementById("view")).focus({ preventScroll: true });
}

function nameOf(element) {
  return `${element.tagName} ${element.closest("[data-attempt]")?.dataset.attempt ?? ""} ${element.textContent}`;
}

function facts(task) {
  const rows = [
    ["Photo", h("a", { class: "mono", href: `#/photos/${task.photo_id}` }, task.photo_id)],
    ["Task", h("span", { class: "mono" }, task.id)],
    ["Trace id", task.trace_id && h("span", { class: "mono" }, task.trace_id)],
    ["Submitted", when(task.created_at)],
    ["Ended", task.finished_at && when(task.finished_at)],
    ["Attempts", `${task.attempts} of ${task.max_attempts}`],
  ];
  return h("dl", { class: "card figures" }, rows.filter(([, value]) => value).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

function history(attempts) {
  if (!attempts.length) return h("p", { class: "faint" }, "None yet.");
  return h("ol", { class: "history" }, attempts.map(attemptItem));
}

function attemptItem(attempt) {
  const ran = attempt.finished_at && (new Date(attempt.finished_at) - new Date(attempt.started_at)) / 1000;
  const level = attempt.outcome === "completed" ? "good" : attempt.outcome === "failed" || attempt.outcome === "retried" ? "bad" : "";
  return h(
    "li",
    {},
    h("p", {}, h("span", { class: `pill ${level}` }, OUTCOMES[attempt.outcome] ?? "in hand"), ` attempt ${attempt.number}, ${when(attempt.started_at)}${ran === null ? "" : `, ${duration(ran)}`}, by `, h("span", { class: "mono" }, attempt.worker)),
    attempt.error && h("p", { class: "said" }, h("strong", {}, attempt.error.type), " ", attempt.error.detail),
    attempt.traceback && h("details", { dataset: { attempt: attempt.started_at } }, h("summary", {}, "Where in the code"), h("pre", { tabindex: 0 }, attempt.traceback)),
  );
}
