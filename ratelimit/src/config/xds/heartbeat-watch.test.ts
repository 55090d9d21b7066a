// Tests of heartbeat-watch.ts.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { HeartbeatWatch } from "./heartbeat-watch.ts";

/** The fake clock runs an immediate so much later. */
const IMMEDIATE_MS = 1;

describe("HeartbeatWatch", () => {
  let silences: number[];

  beforeEach(() => {
    vi.useFakeTimers();
    silences = [];
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  function connect(isExpected: boolean): HeartbeatWatch {
    const watch = new HeartbeatWatch(isExpected, (waitedMs) => silences.push(waitedMs));
    watch.connected();
    return watch;
  }

  it("expects nothing of a server that has sent no heartbeat", () => {
    const watch = connect(false);
    vi.advanceTimersByTime(3_600_000);
    watch.response();
    vi.advanceTimersByTime(3_600_000);
    expect([silences, watch.isExpected]).toEqual([[], false]);
  });

  it("gives the server up when the next heartbeat is later than announced, whatever else came", () => {
    const watch = connect(false);
    watch.heartbeat(10_000);
    vi.advanceTimersByTime(9000);
    watch.heartbeat(30_000);
    watch.response();
    vi.advanceTimersByTime(29_999);
    expect(silences).toEqual([]);
    vi.advanceTimersByTime(IMMEDIATE_MS + 1);
    expect([silences, watch.isExpected]).toEqual([[30_000], true]);
  });

  it("gives up a connection to a server with heartbeats that is silent for 5 s", () => {
    connect(true);
    vi.advanceTimersByTime(4999);
    expect(silences).toEqual([]);
    vi.advanceTimersByTime(IMMEDIATE_MS + 1);
    expect(silences).toEqual([5000]);
  });

  it("expects nothing any more when a response comes before a heartbeat: the replica is older", () => {
    const watch = connect(true);
    watch.response();
    vi.advanceTimersByTime(3_600_000);
    expect([silences, watch.isExpected]).toEqual([[], false]);
  });

  it.each([Number.NaN, 0, -1, Infinity, 2 ** 31])("ignores the time %d in a heartbeat", (silenceMaxMs) => {
    const watch = connect(false);
    watch.heartbeat(10_000);
    watch.heartbeat(silenceMaxMs);
    vi.advanceTimersByTime(9999);
    expect(silences).toEqual([]);
    vi.advanceTimersByTime(IMMEDIATE_MS + 1);
    expect(silences).toEqual([10_000]);
  });

  it("expects nothing after stop()", () => {
    const watch = connect(true);
    watch.stop();
    vi.advanceTimersByTime(3_600_000);
    expect(silences).toEqual([]);
  });
});
