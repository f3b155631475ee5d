// Dialogs in which something is filled in.

import { h, replace } from "./dom.js";

/**
 * Show a form in a dialog. Resolves to its FormData, or null if it was left by Cancel or Escape.
 *
 * `content`: fields, with their labels; what the browser finds wrong in them it tells itself. `check(data)` may give
 * a text of what else is wrong: it is shown, and the form stays.
 */
export function ask({ title, content, act, check = () => null }) {
  return new Promise((resolve) => {
    const id = `title-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
    const close = () => dialog.close();
    const buttons = h("p", { class: "buttons" }, h("button", { type: "button", class: "quiet", onclick: close }, "Cancel"), h("button", { class: "main" }, act));
    const wrong = h("div", { role: "alert" });
    let given = null;
    const submit = (event) => {
      event.preventDefault();
      const data = new FormData(event.target);
      const text = check(data);
      replace(wrong, text && h("p", { class: "failure" }, text));
      if (text) return;
      given = data;
      close();
    };
    const dialog = h("dialog", { class: "form", "aria-labelledby": id }, h("form", { onsubmit: submit }, h("h2", { id }, title), content, wrong, buttons));
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(given);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** A field with its label above it, and a hint below. */
export function field(label, input, hint) {
  const id = `field-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
  input.setAttribute("id", id);
  if (hint) input.setAttribute("aria-describedby", `${id}-hint`);
  return h("div", { class: "field" }, h("label", { for: id }, label), input, hint && h("p", { id: `${id}-hint`, class: "faint" }, hint));
}

/** A choice of `[value, text]`. */
export function choice(name, options) {
  return h("select", { name }, options.map(([value, text]) => h("option", { value }, text)));
}
