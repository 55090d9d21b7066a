// Tests of what is remembered of closed streams.
import { describe, expect, it } from "vitest";

import { ClosedStreams } from "./closed-streams.ts";

describe("ClosedStreams", () => {
  it("reports how a stream has ended", () => {
    const closed = new ClosedStreams();
    closed.noteReset(1, true);
    closed.noteReset(5, false);
    closed.noteSkipped(7, 11);
    expect([1, 3, 5, 7, 9, 11, 13].map((id) => closed.find(id))).toEqual([
      "reset by client",
      "ended",
      "reset by server",
      "skipped",
      "skipped",
      "skipped",
      "ended",
    ]);
  });

  it("gives streams the benefit of the doubt when it has forgotten resets", () => {
    const closed = new ClosedStreams();
    for (let id = 1; id < 6000; id += 2) closed.noteReset(id, true);
    expect(closed.find(5999)).toBe("reset by client");
    expect(closed.find(5999 - 2 * 1023)).toBe("reset by client");
    expect(closed.find(5999 - 2 * 1024)).toBe("reset by server");
    expect(closed.find(6001)).toBe("ended");
  });

  it("remembers a stream that was reset twice as the server's", () => {
    const closed = new ClosedStreams();
    closed.noteReset(1, true);
    closed.noteReset(1, false);
    expect(closed.find(1)).toBe("reset by server");
    expect(closed.find(3)).toBe("ended");
  });
});
