// Recordings of real clients (see record.ts), damaged: bytes and whole frames are changed, lost,
// repeated, moved and mixed.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import type { Random } from "@weir/harness/processes/random";
import { mutate } from "../mutation.ts";
import { PREFACE } from "@weir/harness/http2/http2-frames";

const FRAME_HEADER_BYTES = 9;

/** Clients with a recording. */
const CLIENTS = ["grpc-js", "nghttp2", "envoy"] as const;

/** The frames that the recorded clients sent, one list per connection; the preface is in front of each. */
const RECORDINGS: readonly [readonly Buffer[], ...(readonly Buffer[])[]] = readRecordings();

/** Most damages of one input. */
const DAMAGES_MAX = 4;

/** Longest input, in bytes. */
const INPUT_MAX_BYTES = 12_000;

/** A recording, or the beginning of one, with some damage. */
export function damagedRecording(random: Random): Buffer {
  const recording = random.pick(RECORDINGS);
  let frames = random.oneIn(3) ? [...recording] : recording.slice(0, random.between(2, recording.length));
  let isPrefaceSound = true;
  let damages = random.oneIn(2) ? 1 : random.between(0, DAMAGES_MAX);
  if (random.oneIn(2)) for (; damages > 0; damages--) frames = damageFrames(random, frames);
  else if (random.oneIn(10)) isPrefaceSound = false;
  const bytes = Buffer.concat(frames);
  const damaged = damages > 0 ? mutate(random, bytes, damages) : bytes;
  const preface = isPrefaceSound ? PREFACE : mutate(random, PREFACE, 1);
  return Buffer.concat([preface, damaged]).subarray(0, INPUT_MAX_BYTES);
}

/** Cuts the bytes after the preface into frames; the last may be incomplete. */
function framesOf(bytes: Buffer): Buffer[] {
  const frames: Buffer[] = [];
  for (let at = PREFACE.length; at < bytes.length;) {
    const isCut = bytes.length - at < FRAME_HEADER_BYTES;
    const end = isCut ? bytes.length : at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
    frames.push(bytes.subarray(at, end));
    at = end;
  }
  return frames;
}

function damageFrames(random: Random, frames: readonly Buffer[]): Buffer[] {
  const at = random.below(frames.length);
  const one = frames[at] ?? Buffer.alloc(0);
  switch (random.below(8)) {
    case 0: // Lost.
      return frames.toSpliced(at, 1);
    case 1: // Twice, or many times.
      return frames.toSpliced(at, 0, ...Array.from({ length: random.oneIn(4) ? random.below(60) : 1 }, () => one));
    case 2: // Elsewhere.
      return frames.toSpliced(at, 1).toSpliced(random.below(frames.length), 0, one);
    case 3: // From another recording.
      return frames.toSpliced(at, 0, random.pick([one, ...random.pick(RECORDINGS)]));
    case 4: // Another type, other flags, another stream.
      return frames.toSpliced(at, 1, withHeader(random, one));
    case 5: // Another length, while the payload stays.
      return frames.toSpliced(at, 1, withLength(one, random.below(random.oneIn(2) ? 30 : 20_000)));
    case 6: // A shorter or longer payload.
      return frames.toSpliced(at, 1, resized(random, one));
    default: // Other content.
      return frames.toSpliced(at, 1, withPayload(one, mutate(random, payloadOf(one), random.between(1, 3))));
  }
}

function withHeader(random: Random, frame: Buffer): Buffer {
  const copy = Buffer.from(frame);
  if (copy.length < FRAME_HEADER_BYTES) return copy;
  if (random.oneIn(3)) copy[3] = random.below(11);
  else if (random.oneIn(2)) copy[4] = random.oneIn(2) ? random.below(256) : (copy[4] ?? 0) ^ (1 << random.below(6));
  else copy.writeUInt32BE(random.oneIn(3) ? random.below(40) : (copy.readUInt32BE(5) + 2) & 0x7fff_ffff, 5);
  return copy;
}

function withLength(frame: Buffer, length: number): Buffer {
  const copy = Buffer.from(frame);
  if (copy.length >= FRAME_HEADER_BYTES) copy.writeUIntBE(length, 0, 3);
  return copy;
}

function resized(random: Random, frame: Buffer): Buffer {
  const payload = payloadOf(frame);
  const length = random.oneIn(2) ? random.below(payload.length + 1) : payload.length;
  return withPayload(frame, Buffer.concat([payload.subarray(0, length), random.bytes(random.below(9))]));
}

function payloadOf(frame: Buffer): Buffer {
  return frame.subarray(FRAME_HEADER_BYTES);
}

function withPayload(frame: Buffer, payload: Buffer): Buffer {
  return Buffer.concat([withLength(frame, payload.length).subarray(0, FRAME_HEADER_BYTES), payload]);
}

function readRecordings(): [readonly Buffer[], ...(readonly Buffer[])[]] {
  const recordings = CLIENTS.flatMap((client) =>
    readFileSync(join(import.meta.dirname, "recordings", `${client}.base64`), "utf8")
      .trim()
      .split("\n")
      .map((line) => framesOf(Buffer.from(line, "base64"))),
  );
  const [first, ...others] = recordings;
  if (first === undefined) throw new Error("There is no recording");
  return [first, ...others];
}
