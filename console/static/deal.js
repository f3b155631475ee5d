// Requeueing or discarding many dead letters: counted first, asked, then done piece by piece with progress.

import { send } from "./api.js";
import { h } from "./dom.js";
import { count } from "./format.js";
import { confirm, tell } from "./messages.js";

const DOES = { requeue: "Requeue", discard: "Discard" };
const AGAIN_MS = 2000;
const TRIES = 15;

/**
 * Deal with all dead letters that `which` means, as the API takes it, after a dry run and a question. Resolves to
 * whether it was begun.
 *
 * `words` name them; `started(job)` is called when it begins: job is `{action, batchId, total, done, state, stop,
 * changed}` and calls `changed()` as it goes on.
 */
export async function deal(action, which, { words, started }) {
  try {
    const { remaining, as_of } = await send("POST", `/v1/tasks/${action}`, { ...which, dry_run: true });
    if (!remaining) {
      tell("Nothing like this is left: someone was quicker.");
      return false;
    }
    const yes = await confirm({ title: `${DOES[action]} ${tasks(remaining)}?`, content: explain(action, words), act: `${DOES[action]} ${count(remaining)}`, dangerous: action === "discard" });
    if (!yes) return false;
    await run(action, bounded(which, as_of), remaining, started);
    return true;
  } catch (error) {
    tell(error.message, { error: true });
    return false;
  }
}

/** What fails, or fails again, after it was counted isn't meant. */
function bounded(which, asOf) {
  const { all, ...given } = which;
  return { ...given, failed_before: asOf };
}

function explain(action, words) {
  const what = h("p", { class: "said" }, words);
  if (action === "discard") return [what, h("p", {}, "They are given up, for good: nobody will be shown them again, and their photos stay as they are.")];
  return [what, h("p", {}, "Each runs again from its first attempt, behind all that is fresh. What isn't mended fails again and comes back here.")];
}

async function run(action, which, total, started) {
  const job = { action, batchId: randomId(), total, done: 0, requeued: 0, joined: 0, state: "running", changed: () => {}, stop };
  function stop() {
    job.state = "stopped";
    job.changed();
  }
  started(job);
  const body = action === "requeue" ? { ...which, batch_id: job.batchId } : which;
  let remaining = total;
  while (remaining > 0 && job.state === "running") {
    const told = await patiently(() => send("POST", `/v1/tasks/${action}`, body), job);
    if (told === null) return;
    remaining = told.remaining;
    job.done = Math.max(total - remaining, job.done);
    job.requeued += told.outcomes.requeued ?? 0;
    job.joined += told.outcomes.joined ?? 0;
    job.changed();
  }
  if (job.state === "running") job.state = "done";
  job.changed();
}

/** Ask again while the service is away: what was done stays done. null: it was stopped, or won't do. */
async function patiently(ask, job) {
  for (let tried = 1; job.state === "running"; tried += 1) {
    try {
      return await ask();
    } catch (error) {
      if (!error.passes || tried >= TRIES) {
        job.state = "failed";
        job.error = error.message;
        job.changed();
        return null;
      }
      await new Promise((resolve) => setTimeout(resolve, (error.retryAfterS ?? 0) * 1000 || AGAIN_MS));
    }
  }
  return null;
}

/** A UUID, also where the page didn't come over TLS and the browser makes none. */
function randomId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}

function tasks(number) {
  return `${count(number)} ${number === 1 ? "task" : "tasks"}`;
}
