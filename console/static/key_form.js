// A new API key: whose, for what, until when; and its secret, shown this once.

import { send } from "./api.js";
import { h } from "./dom.js";
import { ask, choice, field } from "./form.js";
import { owner } from "./me.js";
import { tell } from "./messages.js";

const DAY_MS = 86_400_000;
const SCOPES = [
  ["photos:write", "upload, delete and reprocess photos"],
  ["photos:read", "look at photos"],
  ["originals:read", "download originals"],
  ["admin", "everything, and this place too"],
];
const ENDS = [["", "Never"], ["1", "In a day"], ["7", "In a week"], ["30", "In 30 days"], ["90", "In 90 days"], ["365", "In a year"]];

/** Ask what it shall be, make it, and show it. */
export async function createKey() {
  const given = await ask({
    title: "New key",
    content: [
      field("Owner", h("input", { name: "owner", required: true, maxlength: 200, value: owner, autocomplete: "off" }), "Sees no other owner's photos."),
      h("fieldset", {}, h("legend", {}, "May"), SCOPES.map(scopeBox)),
      field("Expires", choice("days", ENDS)),
    ],
    act: "Make the key",
    check: (data) => (data.has("scope") ? null : "A key that may do nothing isn't made: tick at least one right."),
  });
  if (!given) return;
  const scopes = given.getAll("scope");
  const days = given.get("days");
  const expiresAt = days ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : null;
  await showOnce(await send("POST", "/v1/keys", { owner: given.get("owner"), scopes, expires_at: expiresAt }));
}

function scopeBox([scope, words], at) {
  return h("label", { class: "check" }, h("input", { type: "checkbox", name: "scope", value: scope, checked: at < 3 }), h("span", {}, h("span", { class: "mono" }, scope), h("span", { class: "faint" }, ` ${words}`)));
}

/** Show a key's secret until it is put away; resolves then. */
export function showOnce(made) {
  return new Promise((resolve) => {
    const secret = h("input", { class: "mono secret", readonly: true, value: made.key, "aria-label": "The new key", onfocus: (event) => event.target.select() });
    const copy = h("button", { type: "button", class: "main", onclick: () => copyOf(secret) }, "Copy");
    const dialog = h(
      "dialog",
      // Escape, pressed in passing, isn't to throw away what can't be seen again.
      { "aria-labelledby": "once", closedby: "none", oncancel: (event) => event.preventDefault() },
      h("form", { method: "dialog" }, h("h2", { id: "once" }, `A key for ${made.owner}`), h("p", {}, "This is the only time that it can be seen. Keep it where nobody else reads."), h("p", { class: "copy" }, secret, copy), h("p", { class: "buttons" }, h("button", {}, "I have it"))),
    );
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve();
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

/** By the clipboard, which browsers give to secure pages alone; else it is marked, to be copied by hand. */
async function copyOf(input) {
  input.select();
  try {
    await navigator.clipboard.writeText(input.value);
    tell("Copied.");
  } catch {
    tell("This browser doesn't let the page copy it: it is marked, so copy it by hand.");
  }
}
