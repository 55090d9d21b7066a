// Tests of the rules for stream and length of frames.
import { describe, expect, it } from "vitest";

import { checkFrame } from "./frame-rules.ts";

describe("checkFrame()", () => {
  it.each([
    ["PRIORITY", 2, 1, 5],
    ["RST_STREAM", 3, 1, 4],
    ["SETTINGS", 4, 0, 0],
    ["SETTINGS", 4, 0, 12],
    ["PING", 6, 0, 8],
    ["GOAWAY", 7, 0, 8],
    ["GOAWAY with debug data", 7, 0, 100],
    ["WINDOW_UPDATE of the connection", 8, 0, 4],
    ["WINDOW_UPDATE of a stream", 8, 3, 4],
    ["an unknown type", 200, 3, 17],
  ])("allows %s", (_, type, streamId, length) => {
    expect(() => checkFrame(type, streamId, length)).not.toThrow();
  });

  it.each([
    [2, 0, 5, 1],
    [2, 1, 6, 6],
    [3, 0, 4, 1],
    [3, 1, 5, 6],
    [4, 1, 0, 1],
    [5, 1, 4, 1],
    [6, 1, 8, 1],
    [6, 0, 9, 6],
    [7, 1, 8, 1],
    [7, 0, 7, 6],
    [8, 1, 5, 6],
  ])("refuses type %i on stream %i of %i bytes with error %i", (type, streamId, length, code) => {
    expect(() => checkFrame(type, streamId, length)).toThrow(expect.objectContaining({ code }) as Error);
  });
});
