// Tests of cutting bytes into frames.
import { describe, expect, it } from "vitest";

import { writeFrameHeader } from "./frame.ts";
import { FrameReader } from "./frame-reader.ts";

/** A reader, what it has read, and the memory that it uses. */
function createReader() {
  const frames: string[] = [];
  const memory = {
    bytes: 0,
    takeAnyway: (bytes: number) => void (memory.bytes += bytes),
    give: (bytes: number) => void (memory.bytes -= bytes),
  };
  const reader = new FrameReader(
    {
      frame: (type, flags, streamId, bytes, start, end) =>
        void frames.push(`${type} ${flags} ${streamId} ${bytes.toString("latin1", start, end)}`),
    },
    memory,
  );
  return { reader, frames, memory };
}

function frame(type: number, flags: number, streamId: number, payload: string): Buffer {
  const bytes = Buffer.alloc(9 + payload.length);
  bytes.write(payload, writeFrameHeader(bytes, 0, payload.length, type, flags, streamId), "latin1");
  return bytes;
}

const BYTES = Buffer.concat([frame(1, 4, 1, "first"), frame(0, 1, 1, ""), frame(6, 0, 0, "x".repeat(300))]);
const FRAMES = ["1 4 1 first", "0 1 1 ", `6 0 0 ${"x".repeat(300)}`];

describe("FrameReader", () => {
  it.each([1, 2, 8, 9, 10, 14, 23, 100, 1000])("reads the same frames from pieces of %i bytes", (size) => {
    const { reader, frames, memory } = createReader();
    for (let offset = 0; offset < BYTES.length; offset += size) reader.read(BYTES.subarray(offset, offset + size));
    expect(frames).toEqual(FRAMES);
    expect(reader.partialBytes).toBe(0);
    expect(memory.bytes).toBe(0);
  });

  it("keeps a copy of an incomplete frame, which counts as memory until it is freed", () => {
    const { reader, frames, memory } = createReader();
    const piece = Buffer.from(BYTES.subarray(0, 20));
    reader.read(piece);
    piece.fill(0);
    expect(reader.partialBytes).toBe(6);
    expect(memory.bytes).toBe(9); // Room for the header.
    reader.read(BYTES.subarray(20, 25));
    expect(memory.bytes).toBe(9);
    reader.read(BYTES.subarray(25, 40));
    expect(memory.bytes).toBe(309); // Room for the frame.
    reader.read(BYTES.subarray(40));
    expect(frames).toEqual(FRAMES);
    reader.read(BYTES.subarray(0, 3));
    reader.free();
    expect(memory.bytes).toBe(0);
  });

  it("counts reads that complete a frame", () => {
    const { reader } = createReader();
    reader.read(BYTES.subarray(0, 13));
    expect(reader.progress).toBe(0);
    reader.read(BYTES.subarray(13, 14));
    expect(reader.progress).toBe(1);
  });

  it("does not wait for a frame that is too long", () => {
    const header = Buffer.alloc(9);
    writeFrameHeader(header, 0, 16_385, 0, 0, 1);
    expect(() => createReader().reader.read(header)).toThrow("A frame exceeds SETTINGS_MAX_FRAME_SIZE");
    writeFrameHeader(header, 0, 16_384, 0, 0, 1);
    createReader().reader.read(header);
  });
});
