// The API: takes photos, and tells how far each is.
import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { unlink } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import multipart from "@fastify/multipart";
import { Queue } from "bullmq";
import Fastify from "fastify";
import * as photos from "./photos.js";

const retries = {
  attempts: 5,
  backoff: { type: "exponential", delay: 2000, jitter: 0.5 },
  removeOnComplete: { count: 1000 },
};
const queues = ["preview", "exif"].map(
  (name) => new Queue(name, { connection: photos.redis, defaultJobOptions: retries }),
);

const app = Fastify({ bodyLimit: 256 << 20 });
await app.register(multipart, { limits: { fileSize: 256 << 20, files: 1 } });

app.get("/readyz", async () => ({ ready: true }));

app.post("/v1/photos", async (request, reply) => {
  const part = await request.file();
  if (!part) return reply.code(422).send({ error: "there is no file" });
  const id = randomUUID();
  const out = createWriteStream(photos.original(id));
  let start = null;
  part.file.once("data", (chunk) => (start = chunk.subarray(0, 3)));
  await pipeline(part.file, out);
  if (part.file.truncated || start?.toString("hex") !== "ffd8ff") {
    await unlink(photos.original(id));
    return reply.code(part.file.truncated ? 413 : 415).send({ error: "too large, or not a JPEG" });
  }
  await photos.insert(id, part.filename, out.bytesWritten);
  await Promise.all(queues.map((queue) => queue.add(queue.name, { id }, { jobId: id })));
  return reply.code(202).send({ id, state: "processing" });
});

app.get("/v1/photos/:id", async (request, reply) => {
  const photo = await photos.find(request.params.id);
  return photo ?? reply.code(404).send({ error: "there is no such photo" });
});

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, async () => {
    await app.close();
    await Promise.all(queues.map((queue) => queue.close()));
    await photos.close();
  });
}
await app.listen({ host: "127.0.0.1", port: Number(process.env.PORT) });
