// Tests of what is made for the benchmark of the control plane, as far as it needs no server.
import { describe, expect, it } from "vitest";

import { makeClusterSet } from "./sets.ts";

describe("makeClusterSet()", () => {
  it("reports once why the API server does not start, and can be stopped all the same", async () => {
    const stops: (() => Promise<void>)[] = [];
    const set = makeClusterSet(
      { folder: "/unused", onStarted: (stop) => stops.push(stop) },
      { resources: 1, longRules: 0 },
      () => Promise.reject(new Error("etcd is not there")),
    );
    await expect(set).rejects.toThrow("etcd is not there");
    expect(await Promise.all(stops.map((stop) => stop()))).toEqual([undefined]);
  });
});
