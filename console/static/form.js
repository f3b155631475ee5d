// Dialogs in which something is filled in.

import { h } from "./dom.js";

/**
 * Show a form in a dialog. Resolves to its FormData, or null if it was left by Cancel or Escape.
 *
 * `content`: fields, with their labels; what the browser finds wrong in them it tells itself.
 */
export function ask({ title, content, act }) {
  return new Promise((resolve) => {
    const id = `title-${crypto.getRandomValues(new Uint32Array(1))[0]}`;
    const close = () => dialog.close();
    const buttons = h("p", { class: "buttons" }, h("button", { type: "button", class: "quiet", onclick: close }, "Cancel"), h("button", { class: "main" }, act));
    let given = null;
    const submit = (event) => {
      event.preventDefault();
      given = new FormData(event.target);
      close();
    };
    const dialog = h("dialog", { class: "form", "aria-labelledby": id }, h("form", { onsubmit: submit }, h("h2", { id }, title), content, buttons));
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
