// What has to be said and not answered, and what has to be answered first.

import { h, replace } from "./dom.js";

const LASTS_MS = 6000;

/** Tell something at the page's foot for some seconds; an error stays until it is closed. */
export function tell(text, { error = false } = {}) {
  const close = h("button", { class: "quiet", "aria-label": "Close this message", onclick: () => message.remove() }, "×");
  const message = h("div", { class: error ? "message bad" : "message" }, h("span", {}, text), close);
  document.getElementById("messages").append(message);
  if (!error) setTimeout(() => message.remove(), LASTS_MS);
}

/**
 * Ask before something is done. Resolves to whether it is to be done; Escape says no.
 *
 * `content`: nodes or texts; `act`: the text of the button that says yes.
 */
export function confirm({ title, content = [], act, dangerous = false }) {
  return new Promise((resolve) => {
    const id = `title-${Math.random().toString(36).slice(2)}`;
    const yes = h("button", { value: "yes", class: dangerous ? "danger" : "main" }, act);
    const no = h("button", { value: "no", class: "quiet", autofocus: true }, "Cancel");
    const dialog = h("dialog", { "aria-labelledby": id }, h("form", { method: "dialog" }, h("h2", { id }, title), h("div", {}, content), h("p", { class: "buttons" }, no, yes)));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(dialog.returnValue === "yes");
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A place in the page for an error, with a button that tries again. */
export function failure(problem, again) {
  return h("div", { class: "failure", role: "alert" }, h("p", {}, problem.message), again && h("button", { onclick: again }, "Try again"));
}

/** Put a view's failure in its place; what was aborted isn't one. */
export function showFailure(root, error, again) {
  if (error.name !== "AbortError") replace(root, failure(error, again));
}
