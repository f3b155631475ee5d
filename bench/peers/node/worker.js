// The worker: previews from one decode, each size from the one before; metadata apart. Both are retried.
import { Worker } from "bullmq";
import exifr from "exifr";
import sharp from "sharp";
import * as photos from "./photos.js";

const SIZES = [
  ["large", 2048],
  ["medium", 1280],
  ["small", 320],
];
// sharp's default optimises the Huffman tables: more work than the others do, for 4 % of the bytes
const JPEG = { quality: 80, chromaSubsampling: "4:2:0", optimiseCoding: false };
const slots = Number(process.env.SLOTS);
sharp.cache(false); // no photo comes twice
sharp.concurrency(1); // as many at a time as there are processors, each on one

async function makePreviews(id) {
  let picture = sharp(photos.original(id), { sequentialRead: true }).autoOrient();
  const previews = [];
  for (const [size, edge] of SIZES) {
    const { data, info } = await picture
      .resize(edge, edge, { fit: "inside", withoutEnlargement: true })
      .raw()
      .toBuffer({ resolveWithObject: true });
    const raw = { raw: { width: info.width, height: info.height, channels: info.channels } };
    const file = await sharp(data, raw).jpeg(JPEG).toFile(photos.preview(id, size));
    previews.push({ size, width: file.width, height: file.height, size_bytes: file.size });
    picture = sharp(data, raw);
  }
  await photos.savePreviews(id, previews);
}

async function readExif(id) {
  const exif = await exifr.parse(photos.original(id), { gps: true, makerNote: false, userComment: false });
  await photos.saveExif(id, exif ?? {});
}

const jobs = { preview: makePreviews, exif: readExif };
const workers = Object.entries(jobs).map(([name, work]) => {
  const worker = new Worker(name, (job) => work(job.data.id), { connection: photos.redis, concurrency: slots });
  worker.on("failed", async (job, error) => {
    console.error(name, job?.id, error);
    if (job && job.attemptsMade >= job.opts.attempts) await photos.fail(job.data.id, String(error));
  });
  worker.on("error", (error) => console.error(name, error));
  return worker;
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await Promise.all(workers.map((worker) => worker.close()));
    await photos.close();
  });
}
