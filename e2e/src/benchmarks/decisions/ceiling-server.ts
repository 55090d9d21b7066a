// A server that answers every call with the same prebuilt bytes: the load generator's rate against it
// is the generator's own ceiling. A process of its own.
import { createServer } from "node:net";
import type { Socket } from "node:net";
import {
  FLAG,
  FRAME,
  PREFACE,
  acknowledgementOf,
  createFrameReader,
  frame,
  windowUpdate,
} from "../../parts/http2-frames.ts";

/**
 * Answer of every call: ":status: 200" from the static table, a decision that says OK, and
 * "grpc-status: 0" as a literal.
 */
const ANSWER = Buffer.concat([
  frame(FRAME.HEADERS, FLAG.END_HEADERS, 0, Buffer.from([0x88])),
  frame(FRAME.DATA, 0, 0, Buffer.from([0, 0, 0, 0, 2, 0x08, 0x01])),
  frame(
    FRAME.HEADERS,
    FLAG.END_HEADERS | FLAG.END_STREAM,
    0,
    Buffer.concat([Buffer.from([0x00, 11]), Buffer.from("grpc-status"), Buffer.from([1, 0x30])]),
  ),
]);

/** Offsets of the three stream identifiers of the answer. */
const STREAM_ID_AT = streamIdPlaces(ANSWER);

/** Received bytes after which the client gets more window. */
const WINDOW_STEP_BYTES = 16_384;

const server = createServer({ noDelay: true }, answerAll);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`${typeof address === "object" && address !== null ? address.port : 0}\n`);
});

function answerAll(socket: Socket): void {
  let preface = PREFACE.length;
  let answers: Buffer[] = [];
  let received = 0;
  const read = createFrameReader((type, flags, streamId, payload) => {
    const acknowledgement = acknowledgementOf(type, flags, payload);
    if (acknowledgement !== undefined) socket.write(acknowledgement);
    if (type !== FRAME.DATA) return;
    received += payload.length;
    if ((flags & FLAG.END_STREAM) !== 0) answers.push(answerFor(streamId));
  });
  socket.write(frame(FRAME.SETTINGS, 0, 0, Buffer.alloc(0)));
  socket.on("error", () => socket.destroy()); // The generator went away, as it does at the end of every measurement.
  socket.on("data", (chunk: Buffer) => {
    const skipped = Math.min(preface, chunk.length);
    preface -= skipped;
    read(chunk.subarray(skipped));
    if (received >= WINDOW_STEP_BYTES) {
      answers.push(windowUpdate(received));
      received = 0;
    }
    if (answers.length > 0) socket.write(Buffer.concat(answers));
    answers = [];
  });
}

function answerFor(streamId: number): Buffer {
  const bytes = Buffer.from(ANSWER);
  for (const at of STREAM_ID_AT) bytes.writeUInt32BE(streamId, at);
  return bytes;
}

function streamIdPlaces(bytes: Buffer): readonly number[] {
  const places: number[] = [];
  for (let at = 0; at < bytes.length; at += 9 + bytes.readUIntBE(at, 3)) places.push(at + 5);
  return places;
}
