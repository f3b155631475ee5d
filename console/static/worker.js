// One worker process, and what it is doing now.

import { h } from "./dom.js";
import { duration } from "./format.js";
import { keyed, write } from "./live.js";
import { titleOf } from "./queue_card.js";

/** A list's item: `{element, update}`. */
export function workerItem(first) {
  const state = h("span", { class: "pill" });
  const tasks = h("ul", { class: "in-hand" });
  const idle = h("p", { class: "faint" }, "Idle");
  const setTasks = keyed(tasks, (task) => task.id, taskItem);
  return {
    element: h("li", {}, h("p", {}, h("span", { class: "mono" }, first.name), state), tasks, idle),
    update(worker) {
      const [level, text] = inWords(worker);
      state.className = `pill ${level}`;
      write(state, text);
      setTasks(worker.tasks);
      idle.hidden = worker.tasks.length > 0;
    },
  };
}

function inWords({ alive, slots, tasks }) {
  if (alive === null) return ["warn", "not known"];
  if (!alive) return ["bad", "silent: its tasks will be taken from it"];
  return ["good", `alive, ${tasks.length} of ${slots} busy`];
}

function taskItem(task) {
  const time = h("span", { class: "number" });
  const photo = h("a", { class: "mono", href: `#/photos/${task.photo_id}`, title: task.photo_id }, task.photo_id.slice(0, 8));
  return {
    element: h("li", {}, h("strong", {}, titleOf(task.kind)), " of photo ", photo, " for ", time),
    update: (next) => write(time, duration(next.running_s)),
  };
}
