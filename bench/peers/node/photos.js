// What the API and the worker share: the table, the queues' connection, the files.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";

const data = process.env.DATA;
mkdirSync(join(data, "originals"), { recursive: true });
mkdirSync(join(data, "previews"), { recursive: true });

export const original = (id) => join(data, "originals", `${id}.jpg`);
export const preview = (id, size) => join(data, "previews", `${id}-${size}.jpg`);

export const redis = { path: process.env.REDIS_SOCKET, maxRetriesPerRequest: null };
const pool = new pg.Pool({ max: 10 }); // where to, PGHOST, PGUSER and PGDATABASE say

export async function insert(id, filename, sizeBytes) {
  await pool.query({
    name: "insert",
    text: "INSERT INTO peer_photos (id, filename, size_bytes) VALUES ($1, $2, $3)",
    values: [id, filename, sizeBytes],
  });
}

export async function find(id) {
  const { rows } = await pool.query({ name: "find", text: "SELECT * FROM peer_photos WHERE id = $1", values: [id] });
  if (rows.length === 0) return null;
  const { error, ...photo } = rows[0];
  return { ...photo, state: error ? "failed" : photo.ready_at ? "ready" : "processing", error };
}

// Whichever of the two comes second makes the photo ready: the row's lock puts them in order.
export async function savePreviews(id, previews) {
  await pool.query({
    name: "previews",
    text: `UPDATE peer_photos SET previews = $2,
      ready_at = CASE WHEN exif IS NOT NULL THEN clock_timestamp() END WHERE id = $1`,
    values: [id, JSON.stringify(previews)],
  });
}

export async function saveExif(id, exif) {
  await pool.query({
    name: "exif",
    text: `UPDATE peer_photos SET exif = $2,
      ready_at = CASE WHEN previews IS NOT NULL THEN clock_timestamp() END WHERE id = $1`,
    values: [id, JSON.stringify(exif)],
  });
}

export async function fail(id, error) {
  await pool.query("UPDATE peer_photos SET error = $2 WHERE id = $1", [id, error]);
}

export const close = () => pool.end();
