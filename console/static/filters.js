// Which photos are shown: by state, and by when they were taken.

import { h } from "./dom.js";

const STATES = [["", "All"], ["ready", "Ready"], ["processing", "Processing"], ["failed", "Failed"]];

const CLICK_MS = 50; // from a button's up to where its click has led

let touched = null; // the field that the view was shown anew for: it has the focus again

let pressing = false; // a pointer's button is down
for (const [name, down] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]]) {
  addEventListener(name, () => (pressing = down), { capture: true });
}

/** A form; `changed(filters)` is called with what the API is to be asked for. Days shown are both included. */
export function filterBar(filters, changed) {
  const state = h("select", { name: "state" }, STATES.map(([value, text]) => h("option", { value, selected: value === (filters.state ?? "") }, text)));
  const from = h("input", { type: "date", name: "from", value: filters.taken_after?.slice(0, 10), max: "9998-12-31" });
  const to = h("input", { type: "date", name: "to", value: filters.taken_before && moved(filters.taken_before.slice(0, 10), -1), max: "9998-12-31" });
  const tell = (name) => {
    touched = name;
    changed({ state: state.value, taken_after: from.value, taken_before: to.value && moved(to.value, 1) });
  };
  state.onchange = () => tell("state");
  // A date is being typed as long as it has the focus.
  for (const input of [from, to]) {
    const before = input.value;
    input.onblur = () => input.value !== before && onceReleased(() => tell(null));
    input.onkeydown = (event) => event.key === "Enter" && input.blur();
  }
  const clear = Object.keys(filters).length > 0 && h("a", { class: "button quiet", href: "#/photos" }, "Clear");
  const form = h("form", { class: "filters", role: "search", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
    h("label", {}, "State", state), h("label", {}, "Taken from", from), h("label", {}, "to", to), clear);
  requestAnimationFrame(() => {
    if (touched) form.elements[touched].focus({ preventScroll: true });
    touched = null;
  });
  return form;
}

// A view shown anew between a button's down and up would lose the click. Where that leads elsewhere, it counts.
function onceReleased(act) {
  if (!pressing) return act();
  const at = location.hash;
  const released = () => setTimeout(() => location.hash === at && act(), CLICK_MS);
  addEventListener("pointerup", released, { once: true });
}

function moved(day, days) {
  const date = new Date(`${day}T00:00:00Z`);
  date.setUTCDate(date.getUTCDate() + days);
  return date.toISOString().slice(0, 10);
}
