// The tasks of one group, page by page.

import { get } from "./api.js";
import { switches } from "./dead_letter_groups.js";
import { h, replace } from "./dom.js";
import { since, when } from "./format.js";
import { showFailure } from "./messages.js";
import { titleOf } from "./queue_card.js";
import { place } from "./router.js";

const PAGE = 50;

export async function showTasks(root, which, { act, signal }) {
  const rows = h("tbody");
  const more = h("p", { class: "buttons" });
  const dealt = async (...given) => {
    if ((await act(...given)) && !signal.aborted) location.assign(place("/dead-letters"));
  };
  const heads = ["Photo", "Failed", "Attempts", "Last said"].map((text) => h("th", { scope: "col" }, text));
  replace(
    root,
    h("p", {}, h("a", { href: place("/dead-letters") }, "All dead letters")),
    h("header", { class: "head" }, h("h1", {}, which.kind ? `${titleOf(which.kind)}: ${which.error_type}` : which.error_type), switches(dealt, () => which, "the group")),
    h("p", { class: "said" }, which.message),
    h("div", { class: "card scroll" }, h("table", { class: "stacks" }, h("thead", {}, h("tr", {}, heads)), rows), more),
  );
  await load(null);

  async function load(cursor) {
    const query = new URLSearchParams({ ...which, state: "failed", limit: PAGE, ...(cursor ? { cursor } : {}) });
    try {
      const page = await get(`/v1/tasks?${query}`, { signal });
      rows.append(...page.tasks.map((task) => row(task, which)));
      if (!rows.childElementCount) rows.append(h("tr", {}, h("td", { colspan: 4, class: "faint" }, "None is left.")));
      replace(more, page.next_cursor && h("button", { onclick: () => load(page.next_cursor) }, "More"));
    } catch (error) {
      showFailure(more, error, () => load(cursor));
    }
  }
}

function row(task, which) {
  const link = h("a", { class: "mono", href: place("/dead-letters", { ...which, task: task.id }), title: task.photo_id }, task.photo_id.slice(0, 8));
  return h("tr", {}, cell("Photo", {}, link), cell("Failed", { title: when(task.finished_at) }, since(task.finished_at)), cell("Attempts", {}, `${task.attempts} of ${task.max_attempts}`), cell("Last said", { class: "said" }, task.error?.detail));
}

/** Where the table has no room for its heads, each cell shows its own. */
function cell(head, properties, content) {
  return h("td", { ...properties, dataset: { head } }, content);
}
