// The dead letters: failed tasks in groups, those of a group, and one of them.
//
// `#/dead-letters?kind=preview&error_type=time-limit` shows some groups, with `message` one group's tasks, with
// `task` one task.

import { get } from "./api.js";
import { showBatches } from "./batches.js";
import { deal } from "./deal.js";
import { groupsByError } from "./dead_letter_groups.js";
import { showTask } from "./dead_letter_task.js";
import { showTasks } from "./dead_letter_tasks.js";
import { h, replace } from "./dom.js";
import { count } from "./format.js";
import { live, write } from "./live.js";
import { showFailure } from "./messages.js";
import { titleOf } from "./queue_card.js";
import { place } from "./router.js";

const EVERY_MS = 5000;

// From one of these views to the next the router leaves the focus alone.
let visited = false;

export function show(root, { query, signal }) {
  const which = Object.fromEntries(["kind", "error_type", "message"].filter((name) => query.get(name)).map((name) => [name, query.get(name)]));
  const batches = h("div", { class: "batches" });
  const body = h("div", { class: "stack" });
  replace(root, h("div", { class: "stack" }, batches, body));
  if (visited) root.focus({ preventScroll: true });
  visited = true;
  const { started } = showBatches(batches, signal);
  const act = (action, meant, words) => deal(action, meant, { words, started });
  if (query.get("task")) showTask(body, query.get("task"), which, { act, signal });
  else if (which.message && which.error_type) showTasks(body, which, { act, signal });
  else showGroups(body, which, { act, signal });
}

function showGroups(root, which, { act, signal }) {
  const total = h("p", { class: "faint" });
  const stale = h("p", { class: "warn", role: "status" });
  const all = h("p", { class: "switches" });
  const list = h("div", { class: "stack" });
  const none = h("p", { class: "empty" }, Object.keys(which).length ? "Nothing that failed is like this." : "Nothing has failed for good. When something does, it waits here until someone deals with it.");
  const page = [h("header", { class: "head" }, h("h1", {}, "Dead letters"), total, stale, all), filters(which), list, none];
  const set = groupsByError(list, async (...given) => {
    await act(...given);
    refresh();
  });
  let shown = false;
  const refresh = live(load, { everyMs: EVERY_MS, signal });

  async function load() {
    try {
      const { groups } = await get(`/v1/dead-letters?${new URLSearchParams(which)}`, { signal });
      const tasks = groups.reduce((sum, group) => sum + group.count, 0);
      set(groups);
      write(total, tasks ? `${count(tasks)} ${tasks === 1 ? "task" : "tasks"} in ${count(groups.length)} ${groups.length === 1 ? "group" : "groups"}` : "");
      write(stale, "");
      none.hidden = tasks > 0;
      showAll(tasks);
      if (!shown) replace(root, page);
      shown = true;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (shown) write(stale, `This list is old: ${error.message}`);
      else showFailure(root, error, () => refresh());
    }
  }

  /** Buttons for all that is shown, where there are several groups. */
  function showAll(tasks) {
    const wanted = tasks > 1;
    if (wanted === all.childElementCount > 0) return;
    const meant = Object.keys(which).length ? which : { all: true };
    const button = (action, text, kind) => h("button", { class: kind, onclick: async () => (await act(action, meant, "all that is shown"), refresh()) }, text);
    replace(all, wanted && [button("discard", "Discard all", "quiet"), button("requeue", "Requeue all", "main")]);
  }
}

/** What the address leaves out, each with a link that takes the bound away. */
function filters(which) {
  const chip = ([name, value]) => {
    const rest = { ...which, [name]: null };
    const text = name === "kind" ? titleOf(value) : value;
    return h("a", { class: "chip", href: place("/dead-letters", rest), "aria-label": `Show not only ${text}` }, text, h("span", { "aria-hidden": "true" }, " ×"));
  };
  const given = Object.entries(which);
  return given.length > 0 && h("p", { class: "chips" }, "Only ", given.map(chip));
}
