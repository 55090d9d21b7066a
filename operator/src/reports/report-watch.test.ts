// Tests of report-watch.ts: which replicas are silent after pauses of the operator. Their connections
// have no server.
import { silentLog } from "@weir/common/log/log";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { ReportWatch } from "./report-watch.ts";

/** One ready replica, at an address of no server. */
const SLICE: KubernetesObject = {
  namespace: "weir-system",
  name: "slice",
  uid: "slice",
  resourceVersion: "1",
  generation: undefined,
  content: {
    metadata: { name: "slice", labels: { "kubernetes.io/service-name": "control-plane" } },
    ports: [{ name: "ads", port: 1 }],
    endpoints: [{ addresses: ["127.0.0.1"], targetRef: { name: "cp-0", uid: "cp-0" } }],
  },
};

describe("ReportWatch", () => {
  let nowMs: number;
  let slicesChanged: () => void;
  let watch: ReportWatch;

  beforeEach(() => {
    vi.useFakeTimers({ toFake: ["setTimeout", "setInterval", "clearTimeout", "clearInterval"] });
    nowMs = 1000;
    const slices = {
      list: (): readonly KubernetesObject[] => [SLICE],
      onChange: (listener: () => void): void => void (slicesChanged = listener),
    };
    const readyPods = { byFleet: () => new Map(), onChange: () => undefined };
    watch = new ReportWatch(
      { log: silentLog(), monotonicMs: () => nowMs, random: () => 0, slices, readyPods },
      { namespace: "weir-system", service: "control-plane", portName: "ads", serverName: "cp", tls: undefined },
    );
    watch.start();
  });

  afterEach(async () => {
    await watch.stop();
    vi.useRealTimers();
  });

  /** Time passes, and the timers that are due run. */
  function pass(ms: number): void {
    for (let left = ms; left > 0; left -= 50) {
      nowMs += 50;
      vi.advanceTimersByTime(50);
    }
  }

  it("takes a replica for silent after ten seconds without an answer", () => {
    pass(9900);
    expect(watch.reports().of("shop/mail")).toMatchObject({ awaited: ["cp-0"], silent: [] });
    pass(700);
    expect(watch.reports().of("shop/mail")).toMatchObject({ awaited: [], silent: ["cp-0"] });
  });

  it("takes no replica for silent because this process was paused, whichever timer comes first", () => {
    pass(1000);
    slicesChanged(); // Reports are about to be merged.
    nowMs += 9500;
    vi.advanceTimersByTime(50);
    expect(watch.reports().of("shop/mail")).toMatchObject({ awaited: ["cp-0"], silent: [] });
    pass(8000);
    expect(watch.reports().of("shop/mail")).toMatchObject({ awaited: ["cp-0"], silent: [] });
    pass(1500);
    expect(watch.reports().of("shop/mail")).toMatchObject({ silent: ["cp-0"] });
  });
});
