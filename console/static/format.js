// Quantities as people read them. Times are shown in the browser's own zone.

const UNITS = ["B", "KiB", "MiB", "GiB", "TiB"];
const NUMBER = new Intl.NumberFormat("en");
const WHEN = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "medium" });
const SHORT = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "short" });

/** 12,345 */
export function count(number) {
  return NUMBER.format(number);
}

/** 3.4 MiB */
export function bytes(number) {
  let power = 0;
  while (number >= 1024 && power < UNITS.length - 1) {
    number /= 1024;
    power += 1;
  }
  return `${power && number < 100 ? number.toFixed(1) : Math.round(number)} ${UNITS[power]}`;
}

/** 40 ms, 3.2 s, 5 min 10 s, 3 h 5 min, 2 d 4 h */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const steps = [["d", 86400], ["h", 3600], ["min", 60], ["s", 1]];
  const first = steps.findIndex(([, size]) => seconds >= size);
  const [[unit, size], [nextUnit, nextSize]] = steps.slice(first, first + 2);
  const rest = Math.floor((seconds % size) / nextSize);
  return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${nextUnit}` : ""}`;
}

/** 30 Nov 2026, 00:07:25, of an ISO text. */
export function when(text) {
  return WHEN.format(new Date(text));
}

/** The same without seconds. */
export function shortly(text) {
  return SHORT.format(new Date(text));
}

/** "4 s ago", "in 2 min" */
export function since(text, now = Date.now()) {
  const seconds = (now - new Date(text)) / 1000;
  return seconds < 0 ? `in ${duration(-seconds)}` : `${duration(seconds)} ago`;
}
