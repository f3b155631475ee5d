// The page's uploads: four at once, tried again by themselves where the failure passes.

import { note, problemOf, Problem, signIn } from "./api.js";

const AT_ONCE = 4;
const TRIES = 8;
const LONGEST_S = 30;

/**
 * An upload: `{file, name, state, sent, problem, existed}`.
 *
 * `state`: `waiting`, `sending`, `resting` (tried again at `againAt`), `done`, `refused` (the file is at fault),
 * `failed` (it may be retried), `cancelled`.
 */
const all = [];
const listeners = new Set();
let sending = 0;

/** Have `listener()` called after each change; also for each piece that was sent. */
export function onUploads(listener) {
  listeners.add(listener);
}

export function uploads() {
  return all;
}

/** Upload files: an array of `File`. */
export function add(files) {
  for (const file of files) all.push({ file, name: file.name, state: "waiting", sent: 0, tries: 0 });
  next();
}

/** Whether something waits or is under way. */
export function isLive(upload) {
  return ["waiting", "sending", "resting"].includes(upload.state);
}

export function cancel(upload) {
  if (!isLive(upload)) return;
  clearTimeout(upload.timer);
  const request = upload.request;
  upload.state = "cancelled";
  request?.abort();
  next();
}

export function cancelAll() {
  for (const upload of all.filter(isLive)) cancel(upload);
}

export function retry(upload) {
  Object.assign(upload, { state: "waiting", tries: 0, sent: 0, problem: null });
  next();
}

/** Forget those that have ended. */
export function clear() {
  for (let at = all.length - 1; at >= 0; at--) if (!isLive(all[at])) all.splice(at, 1);
  tell();
}

function tell() {
  for (const listener of listeners) listener();
}

function next() {
  for (const upload of all) {
    if (sending >= AT_ONCE) break;
    if (upload.state === "waiting") send(upload);
  }
  tell();
}

// The bytes as the body: the browser sends them from the disk, and holds none of them.
function send(upload) {
  const request = new XMLHttpRequest();
  Object.assign(upload, { state: "sending", sent: 0, request, tries: upload.tries + 1 });
  sending += 1;
  request.open("POST", "/v1/photos");
  request.setRequestHeader("Accept", "application/json");
  request.setRequestHeader("Content-Type", upload.file.type || "application/octet-stream");
  request.setRequestHeader("Content-Disposition", `attachment; filename*=UTF-8''${encoded(upload.name)}`);
  request.upload.onprogress = (event) => {
    upload.sent = event.loaded;
    tell();
  };
  request.onloadend = () => ended(upload, request);
  request.send(upload.file);
}

function ended(upload, request) {
  sending -= 1;
  upload.request = null;
  if (upload.state !== "cancelled") {
    note(request.status !== 0);
    if (request.status === 200 || request.status === 202) {
      Object.assign(upload, { state: "done", sent: upload.file.size, existed: request.status === 200 });
    } else {
      const gone = new Problem(0, { detail: "The service can't be reached." }, null);
      const problem = request.status ? problemOf(request.status, request.responseText, request.getResponseHeader("Retry-After")) : gone;
      if (problem.status === 401) signIn();
      failed(upload, problem);
    }
  }
  next();
}

async function failed(upload, problem) {
  upload.problem = problem;
  upload.state = "resting"; // not yet for long: next() is not to take it
  if (problem.status === 0 && !(await readable(upload.file))) {
    upload.problem = new Problem(1, { detail: "the file can't be read any more.", code: "unreadable" }, null);
  }
  if (upload.state !== "resting") return;
  if (!upload.problem.passes) upload.state = "refused";
  else if (upload.tries >= TRIES) upload.state = "failed";
  else rest(upload, upload.problem.retryAfterS ?? Math.min(LONGEST_S, 2 ** (upload.tries - 1)));
  tell();
}

function rest(upload, seconds) {
  // Not all at the same moment, when a service comes back.
  const ms = 1000 * seconds * (1 + Math.random() / 4);
  upload.againAt = Date.now() + ms;
  upload.timer = setTimeout(() => {
    upload.state = "waiting";
    next();
  }, ms);
}

async function readable(file) {
  try {
    await file.slice(0, 1).arrayBuffer();
    return true;
  } catch {
    return false;
  }
}

// RFC 8187: what may stand in it as it is.
function encoded(name) {
  return encodeURIComponent(name.toWellFormed?.() ?? name).replace(/['()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
}

addEventListener("beforeunload", (event) => {
  if (all.some(isLive)) event.preventDefault();
});
