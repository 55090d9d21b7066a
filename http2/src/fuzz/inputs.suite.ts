// Inputs of the fuzzers: sound sessions of random frames, and what real clients sent; then damaged in
// bytes and frames, which are changed, lost, repeated, moved and mixed.
import { readFileSync } from "node:fs";
import { join } from "node:path";

import { frame, FRAME_HEADER_BYTES, FrameReader, PREFACE, uint32 } from "@weir/harness/http2/http2-frames";
import { mutate } from "@weir/harness/processes/mutation";
import type { Random } from "@weir/harness/processes/random";

import { type FuzzedCalls, NUMBERS, RandomSession } from "./random-session.suite.ts";

/** Most steps of one session, unless its number is given. */
const STEPS_MAX = 14;

/** Most damages of one input. */
const DAMAGES_MAX = 4;

/** Longest input, in bytes. */
const INPUT_MAX_BYTES = 64 * 1024;

/** Calls of the test service under "/fuzz.Service/", which the recorded clients called too. */
const TEST_CALLS: FuzzedCalls = {
  paths: [
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit",
    ...["Echo", "Later", "Fail", "Large", "Chat", "Watch", "Headers", "Unknown"].map(
      (method) => `/fuzz.Service/${method}`,
    ),
  ],
  message: (random) => random.bytes(random.oneIn(12) ? random.below(3000) : random.below(40)),
};

/** Makes one input; `steps` are the frames, or groups of frames, of a random session. */
export type MakeInput = (random: Random, steps?: number) => Buffer;

/** The frames that grpc-js, nghttp2 (node:http2) and Envoy sent to the test service, one list per connection. */
const RECORDINGS = ["grpc-js", "nghttp2", "envoy"].flatMap(readRecordings);

export const INPUT_KINDS: readonly { readonly name: string; readonly make: MakeInput }[] = [
  { name: "random frames", make: randomFrames(TEST_CALLS) },
  { name: "damaged recordings of grpc-js, nghttp2 and Envoy", make: damagedRecording },
];

/** Sessions of random frames: as they are, with some damage, or bytes that begin no session. */
export function randomFrames(calls: FuzzedCalls): MakeInput {
  return (random, steps = random.between(1, STEPS_MAX)) => {
    const frames = new RandomSession(random, calls).frames(steps);
    if (random.oneIn(40)) return foreignBytes(random);
    return random.oneIn(2) ? Buffer.concat([PREFACE, ...frames]) : damaged(random, frames);
  };
}

function damagedRecording(random: Random): Buffer {
  const recording = random.pick(RECORDINGS);
  return damaged(random, random.oneIn(3) ? recording : recording.slice(0, random.between(2, recording.length)));
}

function foreignBytes(random: Random): Buffer {
  const tlsHello = Buffer.concat([Buffer.from([0x16, 3, 1, 0, 0x50, 1]), random.bytes(random.between(10, 120))]);
  return random.pick([
    Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"),
    tlsHello,
    random.bytes(random.between(1, 400)),
  ]);
}

/** Damages frames, or their bytes; seldom the preface, and often the end. */
function damaged(random: Random, frames: readonly Buffer[]): Buffer {
  const damages = random.oneIn(2) ? 1 : random.between(0, DAMAGES_MAX);
  let some = frames;
  if (random.oneIn(2)) for (let index = 0; index < damages; index++) some = damageFrames(random, some);
  const bytes = some === frames && damages > 0 ? mutate(random, Buffer.concat(some), damages) : Buffer.concat(some);
  const all = Buffer.concat([random.oneIn(40) ? mutate(random, PREFACE, 1) : PREFACE, bytes]);
  return all.subarray(0, random.oneIn(20) ? random.below(all.length) : INPUT_MAX_BYTES);
}

function damageFrames(random: Random, frames: readonly Buffer[]): readonly Buffer[] {
  const at = random.below(frames.length);
  const one = Buffer.from(frames[at] ?? []);
  if (one.length < FRAME_HEADER_BYTES) return frames;
  const payload = one.subarray(FRAME_HEADER_BYTES);
  const changed = (): readonly Buffer[] => frames.toSpliced(at, 1, one);
  const withPayload = (...parts: readonly Buffer[]): readonly Buffer[] => {
    const bytes = Buffer.concat(parts);
    return frames.toSpliced(at, 1, frame(one[3]!, one[4]!, one.readUInt32BE(5), bytes));
  };
  switch (random.below(12)) {
    case 0: // Lost.
      return frames.toSpliced(at, 1);
    case 1: // Twice, or many times.
      return frames.toSpliced(at, 0, ...Array.from({ length: random.oneIn(4) ? random.below(60) : 1 }, () => one));
    case 2: // Elsewhere.
      return frames.toSpliced(at, 1).toSpliced(random.below(frames.length), 0, one);
    case 3: // From a recording.
      return frames.toSpliced(at, 0, random.pick([one, ...random.pick(RECORDINGS)]));
    case 4: // Another type.
      one[3] = random.below(random.oneIn(4) ? 256 : 11);
      return changed();
    case 5: // Other flags.
      one[4] = random.oneIn(2) ? random.below(256) : one[4]! ^ (1 << random.below(6));
      return changed();
    case 6: // Another stream.
      one.writeUInt32BE(random.pick([0, 2, random.below(40), (one.readUInt32BE(5) + 2) & 0x7fff_ffff, 0x7fff_fffd]), 5);
      return changed();
    case 7: // Another length, while the payload stays.
      one.writeUIntBE(random.pick([random.below(30), random.below(20_000), 16_385, 0xff_ffff]), 0, 3);
      return changed();
    case 8: // A shorter or longer payload.
      return withPayload(payload.subarray(0, random.below(2 * payload.length + 1)), random.bytes(random.below(9)));
    case 9: // Another number at its end, where those of windows, settings and errors are.
      return withPayload(payload.subarray(0, Math.max(0, payload.length - 4)), uint32(random.pick(NUMBERS)));
    case 10: // Another first byte: of padding, a block or a message.
      return withPayload(random.bytes(1), payload.subarray(1));
    default: // Other content.
      return withPayload(mutate(random, payload, random.between(1, 3)));
  }
}

/** Reads recordings: one connection per line, all bytes of its client in base64. */
function readRecordings(client: string): readonly (readonly Buffer[])[] {
  const lines = readFileSync(join(import.meta.dirname, "recordings", `${client}.base64`), "utf8")
    .trim()
    .split("\n");
  return lines.map((line) => {
    const frames: Buffer[] = [];
    const reader = new FrameReader((...read) => void frames.push(frame(...read)), PREFACE.length);
    reader.read(Buffer.from(line, "base64"));
    return frames;
  });
}
