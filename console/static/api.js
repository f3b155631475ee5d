// The HTTP API, asked with the session's cookie.

/** An answer that says no (RFC 9457), or no answer at all (`status` 0). */
export class Problem extends Error {
  constructor(status, body, retryAfterS) {
    super(body.detail || body.title || "The service doesn't answer.");
    this.status = status;
    this.code = body.code ?? "no-answer";
    this.errors = body.errors;
    this.retryAfterS = retryAfterS;
    this.requestId = body.request_id;
  }

  /** Whether the same may work later: the service, or what it needs, is away or busy. */
  get passes() {
    return [0, 408, 429].includes(this.status) || this.status >= 500;
  }
}

const listeners = new Set();
let reached = true;

/** Have `listener(reached)` called when the service stops answering, and when it answers again. */
export function onReach(listener) {
  listeners.add(listener);
}

/** Note whether the service answered. */
export function note(answered) {
  if (answered === reached) return;
  reached = answered;
  for (const listener of listeners) listener(reached);
}

/** GET; the answer's JSON. Raises Problem; an aborted request raises AbortError. */
export function get(path, { signal } = {}) {
  return ask("GET", path, { signal });
}

/** POST, PATCH or DELETE with a JSON body, if there is one; the answer's JSON, null if it has none. */
export function send(method, path, body, { signal } = {}) {
  return ask(method, path, { signal, body });
}

/** Problem of an answer's status, text and `Retry-After`. */
export function problemOf(status, text, retryAfter) {
  let body;
  try {
    body = JSON.parse(text);
  } catch {
    body = { title: `The service answered ${status}.` };
  }
  return new Problem(status, body, Number(retryAfter) || null);
}

/** Go where one signs in, and come back to the same place: the session is over. */
export function signIn() {
  sessionStorage.setItem("place", location.hash);
  location.assign("/sign-in?ended");
}

async function ask(method, path, { signal, body }) {
  const headers = { Accept: "application/json" };
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  let text;
  try {
    response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
    text = await response.text();
  } catch (error) {
    if (error.name === "AbortError") throw error;
    note(false);
    throw new Problem(0, { detail: "The service can't be reached." }, null);
  }
  note(true);
  if (response.status === 401) signIn();
  if (!response.ok) throw problemOf(response.status, text, response.headers.get("Retry-After"));
  return text ? JSON.parse(text) : null;
}
