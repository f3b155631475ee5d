// The same for many photos: some at once, and again where a failure passes.

import { send } from "./api.js";
import { h } from "./dom.js";

const AT_ONCE = 4;
const TRIES = 5;
const BETWEEN_DOWNLOADS_MS = 400;

const rest = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Do `work(id)` for each; `told(done)` after each. Gives the problems, as `[id, problem]`. */
export async function each(ids, work, told = () => {}) {
  const waiting = [...ids];
  const problems = [];
  let done = 0;
  const one = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      try {
        await patiently(() => work(id));
      } catch (problem) {
        problems.push([id, problem]);
      }
      told((done += 1));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return problems;
}

async function patiently(work) {
  for (let tries = 1; ; tries++) {
    try {
      return await work();
    } catch (problem) {
      if (!problem.passes || tries === TRIES) throw problem;
      await rest(1000 * (problem.retryAfterS ?? 2 ** (tries - 1)));
    }
  }
}

/** Delete a photo; one that is gone already is as good as deleted. */
export async function remove(id) {
  try {
    await send("DELETE", `/v1/photos/${id}`);
  } catch (problem) {
    if (problem.status !== 404) throw problem;
  }
}

export function reprocess(id) {
  return send("POST", `/v1/photos/${id}/reprocess`);
}

/** Have the browser download originals, one after the other. Gives the problems, as `[id, problem]`. */
export async function download(ids) {
  const problems = [];
  for (const id of ids) {
    const href = `/v1/photos/${id}/original`;
    try {
      await patiently(() => send("HEAD", href)); // a download that fails tells the page nothing
    } catch (problem) {
      problems.push([id, problem]);
      continue;
    }
    const link = h("a", { href, download: "" });
    document.body.append(link);
    link.click();
    link.remove();
    if (ids.length > 1) await rest(BETWEEN_DOWNLOADS_MS);
  }
  return problems;
}
