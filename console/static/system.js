// The system: what it stands on, which processes it is, where else to look; and the keys.

import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { bytes, count, duration, since, when } from "./format.js";
import { showKeys } from "./keys.js";
import { keyed, live, write } from "./live.js";
import { showFailure } from "./messages.js";
import { titleOf } from "./queue_card.js";

const EVERY_MS = 5000;
const NAMES = { postgres: "PostgreSQL", redis: "Redis or Valkey", storage: "Store" };
const CELLS = { state: "Is", version: "Version", python: "Python", started: "Started", led: "Led the relay" };
const ROUND_LATE_S = 20;

export function show(root, { signal }) {
  const now = h("div", { class: "stack" });
  const keys = h("section", { class: "card", "aria-labelledby": "keys-title" });
  replace(root, h("div", { class: "stack" }, h("h1", {}, "System"), now, keys));
  showKeys(keys, signal);
  showNow(now, signal);
}

function showNow(root, signal) {
  const stale = h("p", { class: "warn", role: "status" });
  const links = h("p", { class: "links" });
  const dependencies = h("ul", { class: "dependencies" });
  const facts = { relay: h("dd", {}), store: h("dd", {}), build: h("dd", {}) };
  const mixed = h("p", { class: "warn" });
  const processes = h("tbody");
  const page = [
    stale,
    h("section", { class: "card" }, h("header", { class: "head" }, h("h2", {}, "What it stands on"), links), dependencies),
    h("dl", { class: "card figures" }, fact("Relay", facts.relay), fact("Room in the store", facts.store), fact("This process runs", facts.build)),
    h("section", { class: "card scroll" }, h("h2", {}, "Processes"), mixed, processTable(processes)),
  ];
  const setDependencies = keyed(dependencies, (each) => each.name, dependencyItem);
  const setProcesses = keyed(processes, (each) => each.name, processRow);
  let shown = false;
  const refresh = live(load, { everyMs: EVERY_MS, signal });

  async function load() {
    try {
      const system = await get("/v1/system", { signal });
      write(stale, system.processes === null ? "Redis is away: which processes run isn't known." : "");
      setDependencies(system.dependencies);
      setProcesses((system.processes ?? []).map((process) => ({ ...process, now: system.now })));
      write(mixed, mixedInWords(system.processes ?? []));
      write(facts.relay, relayInWords(system));
      write(facts.store, system.store_free_bytes === null ? "not bounded" : `${bytes(system.store_free_bytes)} free`);
      write(facts.build, `Safelight ${system.version} (${system.revision.slice(0, 12)})`);
      showLinks(links, system.links);
      if (!shown) replace(root, page);
      shown = true;
    } catch (error) {
      if (error.name === "AbortError") return;
      await withoutAnswer(error);
    }
  }

  /** Without the database nobody is let in, but the probe still says what is away. */
  async function withoutAnswer(error) {
    const up = await probe(signal);
    if (up) {
      setDependencies(Object.entries(up).map(([name, is]) => ({ name, up: is, since: null, version: null, error: null })));
      if (!shown) replace(root, page);
      shown = true;
    }
    if (shown) write(stale, `What is below is old: ${error.message}`);
    else showFailure(root, error, () => refresh());
  }
}

async function probe(signal) {
  try {
    const answer = await fetch("/readyz", { signal });
    return (await answer.json()).dependencies;
  } catch {
    return null;
  }
}

function fact(name, value) {
  return h("div", {}, h("dt", {}, name), value);
}

function dependencyItem(first) {
  const state = h("span", { class: "pill" });
  const since_ = h("p", { class: "faint" });
  const error = h("p", { class: "said" });
  return {
    element: h("li", {}, h("p", {}, h("strong", {}, NAMES[first.name] ?? first.name), " ", state), since_, error),
    update({ up, since: instant, version, error: why }) {
      state.className = `pill ${up ? "good" : "bad"}`;
      write(state, up ? "up" : "away");
      write(since_, [version, instant && `${up ? "started" : "away since"} ${since(instant)}`].filter(Boolean).join(", "));
      since_.title = instant ? when(instant) : "";
      write(error, why ?? "");
    },
  };
}

function processTable(body) {
  const heads = ["Process", ...Object.values(CELLS)];
  return h("table", { class: "stacks" }, h("thead", {}, h("tr", {}, heads.map((text) => h("th", { scope: "col" }, text)))), body);
}

function processRow(first) {
  const cells = Object.fromEntries(Object.entries(CELLS).map(([name, head]) => [name, h("td", { dataset: { head } })]));
  return {
    element: h("tr", {}, h("th", { scope: "row" }, h("span", { class: "mono" }, first.name)), Object.values(cells)),
    update(process) {
      const state = process.role === "api" ? "API" : `worker, ${count(process.slots)} ${process.slots === 1 ? "slot" : "slots"}`;
      write(cells.state, process.away.length ? `${state}; breaker open: ${process.away.map(titleOf).join(", ")}` : state);
      cells.state.className = process.away.length ? "bad" : "";
      write(cells.version, process.version ? `${process.version} (${(process.revision ?? "unknown").slice(0, 12)})` : "not told");
      write(cells.python, process.python ?? "not told");
      write(cells.started, process.started_at ? since(process.started_at) : "not told");
      cells.started.title = process.started_at ? when(process.started_at) : "";
      write(cells.led, process.led_at ? `${duration(age(process.led_at, process.now))} ago` : process.role === "api" ? "" : "not yet");
    },
  };
}

/** Whoever gets there first leads a round: with several workers they take turns. */
function relayInWords({ processes, now }) {
  if (processes === null) return "not known while Redis is away";
  const led = processes.filter((process) => process.led_at).sort((a, b) => b.led_at.localeCompare(a.led_at));
  if (!led.length) return "no live process has led a round";
  const s = age(led[0].led_at, now);
  return `${s > ROUND_LATE_S ? "late: " : ""}last round ${duration(s)} ago by ${led[0].name}${led.length > 1 ? `; ${count(led.length)} take turns` : ""}`;
}

function mixedInWords(processes) {
  const builds = new Set(processes.map((process) => `${process.version ?? "untold"} (${process.revision ?? "untold"})`));
  return builds.size > 1 ? `${count(builds.size)} builds run side by side: ${[...builds].join(", ")}.` : "";
}

function age(instant, now) {
  return Math.max(0, (new Date(now) - new Date(instant)) / 1000);
}

function showLinks(root, { grafana, prometheus }) {
  if (root.childElementCount) return;
  const link = (text, href) => href && h("a", { class: "button", href }, text);
  replace(root, link("Grafana", grafana), link("Prometheus", prometheus), link("API", "/docs"));
}
