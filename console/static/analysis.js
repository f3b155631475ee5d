// What the analysis service says of a photo, and a button that asks it.

import { send } from "./api.js";
import { h, replace } from "./dom.js";
import { plain } from "./errors.js";
import { since } from "./format.js";
import { may } from "./me.js";
import { tell } from "./messages.js";

const STATES = { processing: ["…", "Under way"], complete: ["✓", "Complete"], failed: ["!", "Failed"] };

/** A section; `show(analysis)` draws what is known, null for nothing. */
export function analysisCard(id) {
  const inside = h("div", {});
  const element = h("section", { class: "card", "aria-labelledby": "analysis-title" }, h("h2", { id: "analysis-title" }, "Analysis"), inside);
  const ask = async (refresh, button) => {
    button.disabled = true;
    try {
      show((await send("POST", `/v1/photos/${id}/analysis${refresh ? "?refresh=true" : ""}`)).analysis);
    } catch (problem) {
      const none = problem.code === "analysis-not-configured";
      if (none) replace(inside, h("p", { class: "faint", role: "status" }, "There is no analysis service here (SAFELIGHT_ANALYSIS_URL)."));
      else tell(problem.message, { error: true });
      button.disabled = false;
    }
  };
  const button = (text, refresh) => may("photos:write") && h("button", { onclick: (event) => ask(refresh, event.currentTarget) }, text);
  function show(analysis) {
    if (!analysis) return replace(inside, h("p", { class: "faint" }, "It wasn't asked for."), button("Have it analysed", false));
    const [sign, word] = STATES[analysis.state];
    const next = analysis.state === "processing" && analysis.next_poll_at && `, asked again ${since(analysis.next_poll_at)}`;
    replace(inside,
      h("p", {}, h("span", { class: `badge ${analysis.state === "complete" ? "completed" : analysis.state}` }, h("span", { "aria-hidden": "true" }, sign), word), h("span", { class: "faint" }, ` · ${analysis.polls} answers`, next)),
      analysis.error && h("p", {}, plain(analysis.error.type), " ", h("span", { class: "faint" }, analysis.error.detail)),
      drawn(analysis.data),
      analysis.state !== "processing" && button(analysis.state === "complete" ? "Ask anew" : "Try again", analysis.state === "complete"));
  }
  return { element, show };
}

// Names and values of any depth, as a service of any kind may give them.
function drawn(data) {
  const lines = Object.entries(data);
  if (!lines.length) return null;
  return h("dl", { class: "facts" }, lines.map(([name, value]) => [h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, text(value))]));
}

function text(value) {
  if (Array.isArray(value)) return value.every((one) => typeof one !== "object") ? value.join(", ") : value.map((one) => h("div", {}, text(one)));
  if (value && typeof value === "object") return drawn(value);
  return String(value);
}
