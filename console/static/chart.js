// A small chart of the last minutes: one value a step, as an area or a line, with bars below for what went wrong.

import { h, replace, svg } from "./dom.js";
import { write } from "./live.js";

const WIDTH = 600;
const HEIGHT = 90;
const BAR = 14;

/**
 * A chart: `{element, update}`.
 *
 * `title` names what is shown, `kind` is "area" or "line", `told(value)` writes a value, `summary(series)` is the
 * text for who can't see it. `update({values, bars, at, stepS})`: a value a step, null where there is none; bars are
 * counts; `at(index)` is the step's instant in ms.
 */
export function chart({ title, kind, told, summary }) {
  const most = h("span", { class: "faint" });
  const picture = svg("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
  const cursor = svg("line", { class: "cursor", y1: 0, y2: HEIGHT });
  const axis = h("p", { class: "axis faint", "aria-hidden": "true" }, h("span", {}, "15 min ago"), h("span", {}, "now"));
  const element = h("figure", { class: `chart ${kind}` }, h("figcaption", {}, h("span", {}, title), most), picture, axis);
  let series = null;
  let pointed = null;

  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const share = (event.clientX - box.left) / box.width;
    pointed = Math.min(Math.max(Math.floor(share * series.values.length), 0), series.values.length - 1);
    point();
  });
  picture.addEventListener("pointerleave", () => {
    pointed = null;
    point();
  });

  /** Tell the value under the pointer, else the highest. */
  function point() {
    const known = series.values.filter((value) => value !== null);
    if (pointed === null) {
      cursor.remove();
      write(most, known.length ? `up to ${told(Math.max(...known))}` : "nothing yet");
      return;
    }
    const x = ((pointed + 0.5) / series.values.length) * WIDTH;
    cursor.setAttribute("x1", x);
    cursor.setAttribute("x2", x);
    picture.append(cursor);
    const [value, bar] = [series.values[pointed], series.bars?.[pointed]];
    const when = new Date(series.at(pointed)).toLocaleTimeString("en-GB");
    write(most, `${when}: ${value === null ? "nothing" : told(value)}${bar ? `, ${bar} failed` : ""}`);
  }

  return {
    element,
    update(next) {
      series = next;
      picture.setAttribute("aria-label", `${title} in the last 15 minutes: ${summary(series)}.`);
      replace(picture, grid(), shapes(series, kind), bars(series.bars));
      point();
    },
  };
}

function grid() {
  return [0.25, 0.5, 0.75].map((share) => svg("line", { class: "grid", x1: 0, x2: WIDTH, y1: HEIGHT * share, y2: HEIGHT * share }));
}

/** The values as runs of points: where there is no value, there is no line. */
function shapes({ values }, kind) {
  const top = Math.max(...values.map((value) => value ?? 0)) || 1;
  const x = (at) => ((at + 0.5) / values.length) * WIDTH;
  const y = (value) => HEIGHT - 1 - (value / top) * (HEIGHT - 6);
  const runs = [];
  values.forEach((value, at) => {
    if (value === null) return;
    if (at === 0 || values[at - 1] === null) runs.push([]);
    runs.at(-1).push([x(at), y(value)]);
  });
  return runs.map((run) => {
    // A value alone is a short dash, so that it can be seen.
    const points = run.length > 1 ? run : [[run[0][0] - 3, run[0][1]], [run[0][0] + 3, run[0][1]]];
    const text = points.map((point) => point.join(",")).join(" ");
    const area = `${points[0][0]},${HEIGHT} ${text} ${points.at(-1)[0]},${HEIGHT}`;
    return [kind === "area" && svg("polygon", { class: "fill", points: area }), svg("polyline", { class: "stroke", points: text })];
  });
}

function bars(counts) {
  const top = Math.max(1, ...(counts ?? [0]));
  const width = WIDTH / (counts?.length ?? 1);
  return (counts ?? []).map((count, at) => {
    const height = 4 + (BAR - 4) * (count / top);
    return count > 0 && svg("rect", { class: "bar-bad", x: at * width + 1, y: HEIGHT - height, width: width - 2, height });
  });
}
