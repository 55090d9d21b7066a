// The scrape before its judge: promtool, as Prometheus's own rules have it.
import { spawnSync } from "node:child_process";

import { describe, expect, it } from "vitest";

import { manifest } from "../translate/manifests.suite.ts";
import { podOf, publisherOf, reportOf } from "../report/rollout/rollout-facts.suite.ts";
import { PodRegistry } from "../pods/pod-registry.ts";
import { createMetrics } from "./metrics.ts";

describe("createMetrics()", () => {
  it("finds the approval of promtool", async () => {
    const publisher = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha", fleets: ["gold"] }) });
    const metrics = createMetrics({
      report: () => reportOf(publisher, [podOf({})]),
      streams: () => 1,
      watchers: () => 0,
      pods: new PodRegistry({ clock: Date.now }),
      publisher: () => publisher,
      source: { counts: () => ({ lists: 1, watches: 1, failures: { expired: 1 }, readsLastGood: true }) },
    });
    const { text } = await metrics.scrape();
    const { status, stdout, stderr, error } = spawnSync("promtool", ["check", "metrics"], {
      input: text,
      encoding: "utf8",
    });
    expect([error, stdout, stderr, status]).toEqual([undefined, "", "", 0]);
  });
});
