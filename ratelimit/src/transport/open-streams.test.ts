import { describe, expect, it } from "vitest";

import { type EndableStream, OpenStreams } from "./open-streams.ts";

class FakeStream implements EndableStream {
  ended: string | undefined;

  end(status: string, message: string): void {
    this.ended = `${status}: ${message}`;
  }
}

describe("OpenStreams", () => {
  it("add() ends a stream beyond the maximum, until another is forgotten", () => {
    const streams = new OpenStreams<FakeStream>({ what: "watches", max: 2 });
    const [first, second, third, fourth] = [new FakeStream(), new FakeStream(), new FakeStream(), new FakeStream()];
    expect([streams.add(first), streams.add(second), streams.add(third)]).toEqual([true, true, false]);
    expect(third.ended).toBe("RESOURCE_EXHAUSTED: too many watches, the maximum is 2");
    streams.delete(first);
    expect(streams.add(fourth)).toBe(true);
    expect([...streams]).toEqual([second, fourth]);
  });

  it("end() ends all streams, and every later one", () => {
    const streams = new OpenStreams<FakeStream>({ what: "watches", max: 2 });
    const [first, late] = [new FakeStream(), new FakeStream()];
    streams.add(first);
    streams.end();
    expect(streams.add(late)).toBe(false);
    expect([first.ended, late.ended]).toEqual(Array(2).fill("UNAVAILABLE: the server is shutting down"));
    expect([...streams]).toEqual([]);
  });
});
