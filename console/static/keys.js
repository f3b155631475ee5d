// API keys: who has one, new ones, and those that shall be good no more.

import { get, send } from "./api.js";
import { h, replace } from "./dom.js";
import { choice, field } from "./form.js";
import { since, when } from "./format.js";
import { createKey, showOnce } from "./key_form.js";
import { confirm, showFailure, tell } from "./messages.js";

const STATES = { live: "good", expired: "", revoked: "" };
const OVERLAPS = [["86400", "A day"], ["604800", "A week"], ["3600", "An hour"], ["0", "Not at all: it ends now"]];

export function showKeys(root, signal) {
  const rows = h("tbody");
  const failed = h("div");
  const ended = h("input", { type: "checkbox", onchange: () => load() });
  const heads = ["Owner", "Key", "May", "State", "Last used", ""].map((text) => h("th", { scope: "col" }, text || h("span", { class: "hidden" }, "What to do")));
  const create = async () => {
    await attempt(createKey);
    load();
  };
  replace(
    root,
    h("header", { class: "head" }, h("h2", { id: "keys-title" }, "API keys"), h("label", { class: "check" }, ended, " Ended ones too"), h("p", { class: "switches" }, h("button", { class: "main", onclick: create }, "New key"))),
    failed,
    h("div", { class: "scroll" }, h("table", { class: "stacks keys" }, h("thead", {}, h("tr", {}, heads)), rows)),
  );
  load();

  async function load() {
    try {
      const [{ keys }, me] = await Promise.all([get("/v1/keys", { signal }), get("/v1/me", { signal })]);
      const shown = keys.filter((key) => ended.checked || key.state === "live").reverse();
      replace(failed);
      replace(rows, shown.map((key) => row(key, key.id === me.key_id, load)));
    } catch (error) {
      showFailure(failed, error, load);
    }
  }
}

function row(key, mine, changed) {
  const act = (action) => async () => {
    await attempt(() => action(key, mine));
    changed();
  };
  const buttons = key.state === "live" && h("p", { class: "switches" }, h("button", { class: "quiet", "aria-label": `Rotate ${key.owner}'s key ${key.id}`, onclick: act(rotate) }, "Rotate"), h("button", { class: "quiet", "aria-label": `Revoke ${key.owner}'s key ${key.id}`, onclick: act(revoke) }, "Revoke"));
  const end = key.expires_at && key.state !== "revoked" && `${key.state === "live" ? "expires" : "expired"} ${since(key.expires_at)}`;
  return h(
    "tr",
    {},
    h("th", { scope: "row" }, key.owner, mine && h("span", { class: "faint" }, " (you)")),
    h("td", { dataset: { head: "Key" } }, h("span", { class: "mono" }, key.id)),
    h("td", { dataset: { head: "May" } }, key.scopes.join(", ")),
    h("td", { dataset: { head: "State" } }, h("span", { class: `pill ${STATES[key.state]}` }, key.state), end && h("span", { class: "faint", title: when(key.expires_at) }, ` ${end}`)),
    h("td", { dataset: { head: "Last used" } }, key.last_used_at ? h("span", { title: when(key.last_used_at) }, since(key.last_used_at)) : h("span", { class: "faint" }, "never")),
    h("td", {}, buttons),
  );
}

async function attempt(action) {
  try {
    await action();
  } catch (error) {
    tell(error.message, { error: true });
  }
}

async function rotate(key) {
  const overlap = choice("overlap", OVERLAPS);
  const content = [h("p", {}, `A new key with the same owner (${key.owner}) and rights is made.`), field("The old one goes on for", overlap)];
  if (!(await confirm({ title: "Rotate this key?", content, act: "Rotate" }))) return;
  await showOnce(await send("POST", `/v1/keys/${key.id}/rotate`, { overlap_s: Number(overlap.value) }));
}

async function revoke(key, mine) {
  const content = [
    h("p", {}, `${key.owner}'s key `, h("span", { class: "mono" }, key.id), " is good no more within 5 s, and can't be brought back."),
    mine && h("p", { class: "warn" }, "You are signed in by it: you will have to sign in again."),
  ];
  if (!(await confirm({ title: "Revoke this key?", content, act: "Revoke", dangerous: true }))) return;
  await send("DELETE", `/v1/keys/${key.id}`);
  tell("The key is revoked.");
}
