// What a photo looks like while its preview isn't there: its ThumbHash, decoded.
//
// Own code from Evan Wallace's published description (https://evanw.github.io/thumbhash/), without alpha, as
// our previews have none (imaging/thumbhash.py).

import { h } from "./dom.js";

const EDGE_PX = 32;

/** A canvas that shows a base64 ThumbHash, stretched by its style; null without one. */
export function placeholder(text) {
  if (!text) return null;
  const { width, height, pixels } = decode(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
  const canvas = h("canvas", { width, height, "aria-hidden": "true", class: "placeholder" });
  canvas.getContext("2d").putImageData(new ImageData(pixels, width, height), 0, 0);
  return canvas;
}

function decode(hash) {
  const first = hash[0] | (hash[1] << 8) | (hash[2] << 16);
  const second = hash[3] | (hash[4] << 8);
  const landscape = second >> 15;
  const waves = Math.max(3, second & 7);
  const [across, down] = landscape ? [7, waves] : [waves, 7];
  let at = 10; // nibbles: behind the head's five bytes
  const next = () => ((hash[at >> 1] >> ((at++ & 1) << 2)) & 15) / 7.5 - 1;
  const channel = (mean, scale, nx, ny) => ({ mean, nx, ny, factors: factors(nx, ny, () => next() * scale) });
  const light = channel((first & 63) / 63, ((first >> 18) & 31) / 31, across, down);
  // Colours are boosted by a quarter, for what their few bits lose.
  const yellow = channel(((first >> 6) & 63) / 31.5 - 1, (((second >> 3) & 63) / 63) * 1.25, 3, 3);
  const red = channel(((first >> 12) & 63) / 31.5 - 1, (((second >> 9) & 63) / 63) * 1.25, 3, 3);
  const ratio = (landscape ? 7 : second & 7) / (landscape ? second & 7 : 7);
  const width = Math.max(1, Math.round(ratio > 1 ? EDGE_PX : EDGE_PX * ratio));
  const height = Math.max(1, Math.round(ratio > 1 ? EDGE_PX / ratio : EDGE_PX));
  return { width, height, pixels: draw(width, height, light, yellow, red) };
}

// The waves of a channel, but the constant one: those of the triangle that is stored.
function factors(nx, ny, next) {
  const found = [];
  for (let y = 0; y < ny; y++) for (let x = y ? 0 : 1; x * ny < nx * (ny - y); x++) found.push([x, y, next()]);
  return found;
}

// Row by row: what a row's waves sum up to for each wave across is the same for all its pixels.
function draw(width, height, ...channels) {
  const columns = cosines(width);
  const rows = cosines(height);
  const pixels = new Uint8ClampedArray(width * height * 4);
  for (let y = 0, i = 0; y < height; y++) {
    const [light, yellow, red] = channels.map((channel) => sums(channel, rows[y]));
    for (let x = 0; x < width; x++, i += 4) {
      const l = value(light, columns[x]);
      const q = value(red, columns[x]);
      const b = l - (2 / 3) * value(yellow, columns[x]);
      const r = (3 * l - b + q) / 2;
      pixels[i] = 255 * r;
      pixels[i + 1] = 255 * (r - q);
      pixels[i + 2] = 255 * b;
      pixels[i + 3] = 255;
    }
  }
  return pixels;
}

function cosines(size) {
  return Array.from({ length: size }, (_, at) => Array.from({ length: 7 }, (_, wave) => Math.cos((Math.PI / size) * (at + 0.5) * wave)));
}

function sums({ mean, nx, factors }, row) {
  const found = new Float64Array(nx);
  for (const [x, y, factor] of factors) found[x] += 2 * factor * row[y];
  found[0] += mean;
  return found;
}

function value(sums, column) {
  let value = 0;
  for (let wave = 0; wave < sums.length; wave++) value += sums[wave] * column[wave];
  return value;
}
