// The page's one stream of what happens (docs/events.md): open while someone listens, and opened anew by itself.

import { get, note } from "./api.js";

const NAMES = [
  "photo-accepted", "photo-healed", "photo-processing", "photo-ready", "photo-failed", "photo-deleted",
  "task-submitted", "task-started", "task-completed", "task-failed", "task-retried", "task-snoozed",
  "task-cancelled", "task-discarded", "task-requeued",
];
const POLL_MS = 5000;
const AGAIN_MS = [500, 30_000];
// A stream begins up to a second before it was asked for (docs/events.md); if it took longer, something may be missed.
const IN_TIME_MS = 900;
// A page that nobody sees leaves the browser's few connections to those that are seen.
const HIDDEN_MS = 60_000;

const listeners = new Set();
let source = null;
let lastId = "";
let failures = 0;
let again = null;
let polling = null;
let hidden = null;

/**
 * Have `listener({type, data})` called for each event; returns the function that ends it.
 *
 * Two types are the page's own: `reset` (also the service's: something may have been missed, load everything
 * anew) and `poll` (there is no stream for now: look for yourself; every 5 s, and once when there is one again).
 */
export function subscribe(listener) {
  listeners.add(listener);
  if (!source && !again) open();
  return () => {
    listeners.delete(listener);
    // Not at once: the next view most likely listens as well.
    setTimeout(() => listeners.size || close(), 0);
  };
}

function tell(type, data = {}) {
  for (const listener of [...listeners]) {
    try {
      listener({ type, data });
    } catch (error) {
      console.error(error); // one view's fault is not to keep the others from hearing
    }
  }
}

function open() {
  clearTimeout(again);
  again = null;
  source?.close();
  const asked = performance.now();
  const query = lastId ? `?last_event_id=${encodeURIComponent(lastId)}` : "";
  const mine = (source = new EventSource(`/v1/events${query}`));
  mine.onopen = () => {
    note(true);
    clearInterval(polling);
    polling = null;
    if (!query && (failures || performance.now() - asked > IN_TIME_MS)) tell("reset");
    else if (failures) tell("poll");
    failures = 0;
  };
  mine.onerror = () => broken();
  for (const name of NAMES) mine.addEventListener(name, heard);
  mine.addEventListener("reset", heard);
}

function heard(event) {
  lastId = event.lastEventId;
  tell(event.type, JSON.parse(event.data));
}

// The browser would come again by itself after a broken connection, but not after a 503.
function broken() {
  source.close();
  source = null;
  failures += 1;
  polling ??= setInterval(() => tell("poll"), POLL_MS);
  const most = Math.min(AGAIN_MS[1], AGAIN_MS[0] * 2 ** Math.min(failures, 10));
  again = setTimeout(open, most / 2 + Math.random() * (most / 2));
  // Whether the service is away, the session over, or only the stream refused: that isn't told of a stream.
  get("/v1/me").catch(() => {});
}

function close() {
  source?.close();
  source = null;
  clearTimeout(again);
  again = null;
  clearInterval(polling);
  polling = null;
}

function resume() {
  clearTimeout(hidden);
  hidden = null;
  if (listeners.size && !source) open();
}

addEventListener("online", resume);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) resume();
  else hidden ??= setTimeout(() => { failures ||= 1; close(); }, HIDDEN_MS);
});
