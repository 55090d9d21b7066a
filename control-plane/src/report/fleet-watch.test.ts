// Tests of fleet-watch.ts: which fleet names are logged, when, and how often.
import { createLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { PodRegistry, type PodReport } from "../pods/pod-registry.ts";
import { FleetWatch, type NamedResource } from "./fleet-watch.ts";

const GRACE_MS = 60_000;

describe("FleetWatch", () => {
  let lines: Record<string, unknown>[];
  let pods: PodRegistry;
  let resources: readonly NamedResource[] | undefined;
  let notify: () => void;
  let watch: FleetWatch;

  function apply(...named: readonly (readonly [key: string, ...fleets: string[]])[]): void {
    resources = named.map(([key, ...fleets]) => ({ key, fleets: fleets.length === 0 ? undefined : fleets }));
    notify();
  }

  function connect(fleet: string, pod = "pod-7"): PodReport {
    return pods.connected({ nodeId: `${fleet}/${pod}`, fleet, namespace: "edge", pod, peer: "192.0.2.1:4711" });
  }

  beforeEach(() => {
    vi.useFakeTimers({ now: 0 });
    lines = [];
    resources = undefined;
    pods = new PodRegistry({ clock: Date.now });
    notify = () => undefined;
    watch = new FleetWatch({
      log: createLog({
        level: "info",
        format: "json",
        write: (line) => lines.push(JSON.parse(line) as Record<string, unknown>),
      }),
      clock: Date.now,
      resources: () => resources,
      onChanged: (listener) => {
        notify = listener;
        return () => undefined;
      },
      pods,
    });
    watch.start();
  });

  afterEach(() => {
    watch.stop();
    vi.useRealTimers();
  });

  it("logs a connected pod that gets no resource any more, once", () => {
    apply(["web/shop", "core", "edge"]);
    for (const fleet of ["core", "edge"]) connect(fleet);
    apply(["web/shop", "edge"]);
    apply(["web/shop", "edge"], ["web/api", "edge"]);
    expect(lines).toMatchObject([
      { "@message": "A pod gets no resource, no valid resource names its fleet", pod: "edge/pod-7", fleet: "core" },
    ]);
  });

  it("logs a fleet without pods once, after the grace", () => {
    connect("core");
    apply(["web/shop", "cor"], ["web/api", "core", "cor"], ["web/all"]);
    vi.advanceTimersByTime(GRACE_MS - 1);
    notify();
    expect(lines).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(lines).toMatchObject([
      {
        level: "warning",
        "@message": "Resources name fleets of which no pod is connected to this replica",
        fleets: ["cor"],
        resources: ["web/api", "web/shop"],
        fleetsWithPods: ["core"],
      },
    ]);
    apply(["web/shop", "cor"], ["web/all"]);
    vi.advanceTimersByTime(10 * GRACE_MS);
    expect(lines).toHaveLength(1);
  });

  it("logs at the same level that a logged fleet has a pod, and later nothing when its pods are replaced", () => {
    connect("core");
    apply(["web/shop", "edge"], ["web/all"]);
    vi.advanceTimersByTime(GRACE_MS);
    const pod = connect("edge");
    expect(lines.at(-1)).toMatchObject({
      level: "warning",
      "@message": "A pod of the fleet is connected",
      fleet: "edge",
    });
    pod.left();
    apply(["web/shop", "edge"], ["web/all"]);
    vi.advanceTimersByTime(10 * GRACE_MS);
    connect("edge");
    expect(lines).toHaveLength(2);
  });

  it("logs a fleet again that was named anew", () => {
    connect("core");
    apply(["web/shop", "cor"], ["web/all"]);
    vi.advanceTimersByTime(GRACE_MS);
    apply(["web/all"]);
    apply(["web/shop", "cor"], ["web/all"]);
    vi.advanceTimersByTime(GRACE_MS);
    expect(lines).toHaveLength(2);
  });

  it("waits for the first pod, and then for the grace, while none at all is connected", () => {
    apply(["web/shop", "cor"], ["web/api", "edge"], ["web/all"]);
    vi.advanceTimersByTime(10 * GRACE_MS);
    expect(lines).toEqual([]);
    connect("edge");
    vi.advanceTimersByTime(GRACE_MS);
    expect(lines).toMatchObject([{ fleets: ["cor"], fleetsWithPods: ["edge"] }]);
  });

  it("logs a pod that connects and gets no resource because of its fleet", () => {
    apply(["web/shop", "core"], ["web/api", "edge"]);
    connect("core");
    connect("cor");
    connect("cor", "pod-8");
    expect(lines).toMatchObject([
      {
        level: "warning",
        "@message": "A pod gets no resource, no valid resource names its fleet",
        pod: "edge/pod-7",
        fleet: "cor",
        fleets: ["core", "edge"],
      },
    ]);
  });

  it("logs no pod while a resource is for every fleet, or none is read", () => {
    connect("cor");
    apply(["web/shop", "core"], ["web/all"]);
    connect("cor");
    expect(lines).toEqual([]);
  });
});
