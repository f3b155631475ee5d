// The queues: how much waits, how fast it goes, who does it; and their switches.

import { get } from "./api.js";
import { h, replace } from "./dom.js";
import { count } from "./format.js";
import { keyed, live, write } from "./live.js";
import { showFailure } from "./messages.js";
import { queueCard } from "./queue_card.js";
import { workerItem } from "./worker.js";

const EVERY_MS = 3000;

export function show(root, { signal }) {
  const stale = h("p", { class: "warn", role: "status" });
  const cards = h("div", { class: "queues" });
  const busy = h("p", { class: "faint" });
  const workers = h("ul", { class: "workers" });
  const page = [
    h("header", { class: "head" }, h("h1", {}, "Queues"), stale),
    cards,
    h("section", { class: "card" }, h("header", { class: "head" }, h("h2", {}, "Workers"), busy), workers),
  ];
  const setCards = keyed(cards, (queue) => queue.name, (queue) => queueCard(queue, () => refresh()));
  const setWorkers = keyed(workers, (worker) => worker.name, workerItem);
  let shown = false;

  const refresh = live(load, { everyMs: EVERY_MS, signal });

  async function load() {
    try {
      const [now, history] = await Promise.all([get("/v1/queues", { signal }), get("/v1/queue-history", { signal })]);
      const lately = new Map(history.queues.map((queue) => [queue.name, queue]));
      setCards(now.queues.map((queue) => ({ ...queue, history, lately: lately.get(queue.name) })));
      setWorkers(now.workers);
      write(busy, inWords(now.workers));
      write(stale, "");
      if (!shown) replace(root, page);
      shown = true;
    } catch (error) {
      if (error.name === "AbortError") return;
      if (shown) write(stale, `These figures are old: ${error.message}`);
      else showFailure(root, error, () => refresh());
    }
  }
}

function inWords(workers) {
  const alive = workers.filter((worker) => worker.alive);
  const slots = alive.reduce((sum, worker) => sum + (worker.slots ?? 0), 0);
  const tasks = workers.reduce((sum, worker) => sum + worker.tasks.length, 0);
  if (workers.some((worker) => worker.alive === null)) return `Redis is away: only who has a task is known. ${count(tasks)} tasks in hand.`;
  if (!alive.length) return "No worker runs: photos are accepted, and none is processed.";
  return `${count(alive.length)} alive, ${count(tasks)} of ${count(slots)} slots busy`;
}
