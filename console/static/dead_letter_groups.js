// Groups of dead letters: by type of error, below it by kind and message.

import { h, replace } from "./dom.js";
import { plain } from "./errors.js";
import { count, since, when } from "./format.js";
import { keyed, write } from "./live.js";
import { titleOf } from "./queue_card.js";
import { place } from "./router.js";

/** Fill `root` with groups and keep it up to date: returns a function of the list that the API gives. */
export function groupsByError(root, act) {
  const set = keyed(root, ([type]) => type, ([type]) => errorSection(type, act));
  return (groups) => {
    const byType = new Map();
    for (const group of groups) byType.set(group.error_type, [...(byType.get(group.error_type) ?? []), group]);
    set([...byType]);
  };
}

function errorSection(type, act) {
  const total = h("span", { class: "faint" });
  const rows = h("ul", { class: "groups" });
  const setRows = keyed(rows, (group) => `${group.kind} ${group.message}`, (group) => groupRow(group, act));
  const meant = () => (kinds.size === 1 ? { error_type: type, kind: [...kinds][0] } : { error_type: type });
  let kinds = new Set();
  const title = `error-${type}`;
  const element = h(
    "section",
    { class: "card", "aria-labelledby": title },
    h("header", { class: "head" }, h("h2", { id: title }, h("a", { href: place("/dead-letters", { error_type: type }) }, type)), total, switches(act, meant, `all of ${type}`)),
    h("p", {}, plain(type)),
    rows,
  );
  return {
    element,
    update([, groups]) {
      kinds = new Set(groups.map((group) => group.kind));
      write(total, tasks(groups.reduce((sum, group) => sum + group.count, 0)));
      setRows(groups);
    },
  };
}

function groupRow(first, act) {
  const sample = h("div", { class: "sample" });
  const total = h("strong", { class: "number" });
  const seen = h("span", { class: "faint" });
  const about = h("span", { class: "faint" });
  const { kind, error_type, message } = first;
  let pictured = null;
  const element = h(
    "li",
    { class: "group" },
    sample,
    h(
      "div",
      { class: "words" },
      h("p", { class: "said" }, message ? h("a", { href: place("/dead-letters", { kind, error_type, message }) }, message) : "(without a message)"),
      h("p", { class: "faint" }, h("span", { class: "pill" }, titleOf(kind)), " ", total, " ", seen, " · ", about),
    ),
    switches(act, () => ({ kind, error_type, message }), `${titleOf(kind)}: ${message}`),
  );
  return {
    element,
    update(group) {
      write(total, tasks(group.count));
      write(seen, group.count > 1 ? `first ${since(group.first_seen_at)}, last ${since(group.last_seen_at)}` : since(group.last_seen_at));
      seen.title = `${when(group.first_seen_at)} to ${when(group.last_seen_at)}`;
      if (pictured === group.task_id) return;
      pictured = group.task_id;
      const photo = group.filename ?? `photo ${group.photo_id.slice(0, 8)}`;
      replace(about, "newest ", h("a", { href: place("/dead-letters", { kind, error_type, task: group.task_id }), title: group.photo_id }, photo));
      replace(sample, group.preview_url && h("img", { src: group.preview_url, alt: "", loading: "lazy" }));
    },
  };
}

/** Buttons that deal with all that `meant()` says. */
export function switches(act, meant, words) {
  const button = (action, text, kind) => h("button", { class: kind, "aria-label": `${text} ${words}`, onclick: () => act(action, meant(), words) }, text);
  return h("p", { class: "switches" }, button("discard", "Discard", "quiet"), button("requeue", "Requeue", ""));
}

function tasks(number) {
  return `${count(number)} ${number === 1 ? "task" : "tasks"}`;
}
