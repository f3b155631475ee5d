// What a camera wrote into a photo, in the words of people who take them.

import { h } from "./dom.js";

/** `[[label, text], …]` of a photo's `exif`; what isn't known isn't in it. */
export function described(exif) {
  const lines = [
    ["Taken", taken(exif)],
    ["Camera", named(exif.make, exif.model)],
    ["Lens", named(exif.lens_make, exif.lens)],
    ["Exposure", [exposure(exif.exposure_time_s), aperture(exif.f_number), exif.iso && `ISO ${exif.iso}`].filter(Boolean).join(" · ")],
    ["Focal length", focal(exif)],
    ["Compensation", exif.exposure_bias_ev ? `${exif.exposure_bias_ev > 0 ? "+" : "−"}${Number(Math.abs(exif.exposure_bias_ev).toFixed(2))} EV` : ""],
    ["Program", exif.exposure_program],
    ["Metering", exif.metering_mode],
    ["White balance", exif.white_balance],
    ["Flash", exif.flash_fired === true ? "fired" : exif.flash_fired === false ? "didn't fire" : ""],
    ["Description", exif.description],
    ["Artist", exif.artist],
    ["Copyright", exif.copyright],
    ["Software", exif.software],
  ];
  return lines.filter(([, text]) => text);
}

/** 1/250 s, 0.5 s, 30 s */
export function exposure(seconds) {
  if (!seconds) return "";
  // From 1/3 s on cameras show a fraction where one is near, a decimal number where none is.
  const part = Math.round(1 / seconds);
  if (seconds < 0.4 && Math.abs(1 / seconds - part) / part < 0.05) return `1/${part} s`;
  return `${short(seconds)} s`;
}

function aperture(number) {
  return number ? `f/${short(number)}` : "";
}

function focal(exif) {
  if (!exif.focal_length_mm) return "";
  const full = exif.focal_length_35mm_mm;
  return `${short(exif.focal_length_mm)} mm${full && Math.round(full) !== Math.round(exif.focal_length_mm) ? ` (as ${short(full)} mm on 35 mm film)` : ""}`;
}

function short(number) {
  return String(Number(number.toPrecision(3)));
}

// Many makers write their name into the model as well.
function named(make, model) {
  const known = make && model && model.toLowerCase().startsWith(make.toLowerCase().split(" ")[0]);
  return known ? model : [make, model].filter(Boolean).join(" ");
}

// The camera's own clock: shown as it is, never in the zone of the browser.
function taken(exif) {
  if (!exif.taken_at) return "";
  const local = new Date(`${exif.taken_at.slice(0, 19)}Z`);
  if (Number.isNaN(local.getTime())) return exif.taken_at;
  const text = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "medium", timeZone: "UTC" }).format(local);
  return `${text}${exif.taken_at_offset ? ` (UTC${exif.taken_at_offset})` : ", by the camera's clock"}`;
}

/** Where it was taken, with a way to a map; null if that isn't known. Nothing is asked of the map before. */
export function location(exif) {
  const { latitude, longitude, altitude_m: altitude } = exif;
  if (latitude === null || longitude === null || latitude === undefined || longitude === undefined) return null;
  const text = `${degrees(latitude, "N", "S")}, ${degrees(longitude, "E", "W")}${altitude === null ? "" : `, ${Math.round(altitude)} m`}`;
  const open = () => {
    const href = `https://www.openstreetmap.org/?mlat=${latitude}&mlon=${longitude}#map=15/${latitude}/${longitude}`;
    h("a", { href, target: "_blank", rel: "noopener noreferrer" }).click();
  };
  return h("span", {}, text, " ", h("button", { class: "link", onclick: open }, "Show on OpenStreetMap"));
}

function degrees(value, positive, negative) {
  return `${Math.abs(value).toFixed(5)}° ${value < 0 ? negative : positive}`;
}
