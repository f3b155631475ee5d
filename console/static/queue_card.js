// One queue: its figures, its last 15 minutes, its switches.

import { send } from "./api.js";
import { chart } from "./chart.js";
import { h, replace } from "./dom.js";
import { ask, field } from "./form.js";
import { count, duration } from "./format.js";
import { write } from "./live.js";
import { tell } from "./messages.js";
import { place } from "./router.js";

const STATES = { pending: "Waiting", queued: "Queued", processing: "In hand", failed: "Failed" };
const NAMES = { exif: "EXIF" };

/** A queue's name as a title. */
export function titleOf(name) {
  return NAMES[name] ?? name.charAt(0).toUpperCase() + name.slice(1);
}

/** A card: `{element, update}`; `changed` is called when a switch was set. */
export function queueCard(first, changed) {
  const name = first.name;
  const badges = h("p", { class: "pills" });
  const depth = Object.fromEntries(Object.keys(STATES).map((state) => [state, h("dd", { class: "figure" })]));
  const [age, speed, p95] = [h("dd", {}), h("dd", {}), h("dd", {})];
  const pause = h("button", { onclick: () => set(name, { paused: !queue.paused }, changed) });
  const bound = h("button", { class: "quiet", "aria-label": `Bound… of ${titleOf(name)}`, onclick: () => setRate(queue, changed) }, "Bound…");
  const completed = chart({ title: "Completed a second", kind: "area", told: perSecond, summary: rateInWords });
  const runs = chart({ title: "Run time, p95", kind: "line", told: duration, summary: runsInWords });
  let queue = first;
  const element = h(
    "section",
    { class: "card queue", "aria-labelledby": `queue-${name}` },
    h("header", { class: "head" }, h("h2", { id: `queue-${name}` }, titleOf(name)), h("p", { class: "switches" }, bound, pause)),
    badges,
    h("dl", { class: "depth" }, Object.entries(STATES).map(([state, title]) => h("div", { class: state }, h("dt", {}, title), depth[state]))),
    h("dl", { class: "pace" }, pair("Oldest waits", age), pair("Completed", speed), pair("p95", p95)),
    completed.element,
    runs.element,
  );

  return {
    element,
    update(next) {
      queue = next;
      for (const state of ["pending", "queued", "processing"]) write(depth[state], count(next.depth[state]));
      showFailed(depth.failed, next);
      write(age, next.oldest_age_s ? duration(next.oldest_age_s) : "none");
      write(speed, perSecond(next.completed_per_s));
      write(p95, next.run_p95_s === null ? "none" : duration(next.run_p95_s));
      write(pause, next.paused ? "Resume" : "Pause");
      pause.setAttribute("aria-label", `${next.paused ? "Resume" : "Pause"} ${titleOf(name)}`);
      showBadges(badges, next);
      showHistory(next, completed, runs);
    },
  };
}

function pair(title, value) {
  return h("div", {}, h("dt", {}, title), value);
}

/** A failed count leads to the dead letters. */
function showFailed(cell, queue) {
  const text = count(queue.depth.failed);
  if (cell.textContent === text) return;
  const link = () => h("a", { href: place("/dead-letters", { kind: queue.name }), "aria-label": `${text} failed: look at them` }, text);
  replace(cell, queue.depth.failed ? link() : text);
}

function showBadges(root, queue) {
  const told = [
    queue.paused && ["warn", "Paused"],
    queue.rate !== null && ["", `At most ${queue.rate} a second`],
    queue.away_for > 0 && ["bad", `Breaker open in ${count(queue.away_for)} ${queue.away_for === 1 ? "worker" : "workers"}`],
  ].filter(Boolean);
  if (root.textContent !== told.map(([, text]) => text).join("")) replace(root, told.map(([level, text]) => h("span", { class: `pill ${level}` }, text)));
}

function showHistory({ lately, history }, completed, runs) {
  const begun = new Date(history.begun_at).getTime();
  const at = (index) => begun + index * history.step_s * 1000;
  completed.update({ values: lately.completed.map((tasks) => tasks / history.step_s), bars: lately.failed, at });
  runs.update({ values: lately.run_p95_s, at });
}

async function set(name, changes, changed) {
  try {
    await send("PATCH", `/v1/queues/${name}`, changes);
    changed();
  } catch (error) {
    tell(error.message, { error: true });
  }
}

async function setRate(queue, changed) {
  const input = h("input", { name: "rate", type: "number", min: 0.0001, max: 100000, step: "any", value: queue.rate, inputmode: "decimal" });
  const hint = "0.5 is one every two seconds. Empty: no bound.";
  const given = await ask({ title: `${titleOf(queue.name)}: at most so fast`, content: field("Tasks begun a second, at most", input, hint), act: "Set" });
  if (given) await set(queue.name, { rate: given.get("rate") === "" ? null : Number(given.get("rate")) }, changed);
}

/** 12/s, 0.3/s, 4/min */
function perSecond(rate) {
  if (rate === 0) return "0/s";
  if (rate < 0.095) return `${Number((rate * 60).toPrecision(2))}/min`;
  return `${rate < 10 ? Number(rate.toPrecision(2)) : count(Math.round(rate))}/s`;
}

function rateInWords({ values, bars }) {
  const failed = bars.reduce((sum, tasks) => sum + tasks, 0);
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  return `${perSecond(values.at(-1))} last, ${perSecond(mean)} on average, ${perSecond(Math.max(...values))} at most; ${count(failed)} failed`;
}

function runsInWords({ values }) {
  const known = values.filter((value) => value !== null);
  if (!known.length) return "nothing was completed";
  return `${duration(known.at(-1))} last, ${duration(Math.max(...known))} at most`;
}
