// Tests of pod-registry.ts: what is known of pods, in which order, and who hears of changes.
import { beforeEach, describe, expect, it } from "vitest";

import { PodRegistry, type PodChange, type PodReport } from "./pod-registry.ts";

describe("PodRegistry", () => {
  let nowMs: number;
  let pods: PodRegistry;

  function connect(nodeId: string, peer = "192.0.2.1:1"): PodReport {
    return pods.connected({ nodeId, fleet: "edge", namespace: "", pod: "", peer });
  }

  beforeEach(() => {
    nowMs = 100;
    pods = new PodRegistry({ clock: () => nowMs });
  });

  it("lists pods by node id, and those with the same one by the age of their stream", () => {
    for (const [nodeId, peer] of [
      ["b", "1"],
      ["c", "2"],
      ["a", "3"],
      ["b", "4"],
    ] as const) {
      connect(nodeId, peer);
    }
    expect(pods.list().map(({ nodeId, peer }) => [nodeId, peer])).toEqual([
      ["a", "3"],
      ["b", "1"],
      ["b", "4"],
      ["c", "2"],
    ]);
  });

  it("remembers when a pod came, what it was sent and what it answered, and forgets a rejection when it accepts", () => {
    const report = connect("a");
    nowMs = 200;
    report.sent("v1");
    nowMs = 300;
    report.rejected("v1", "no");
    expect(pods.list()).toMatchObject([
      {
        connectedMs: 100,
        sent: { version: "v1", atMs: 200 },
        accepted: undefined,
        rejected: { version: "v1", atMs: 300, message: "no" },
      },
    ]);
    nowMs = 400;
    report.accepted("v2");
    expect(pods.list()).toMatchObject([
      { sent: { version: "v1" }, accepted: { version: "v2", atMs: 400 }, rejected: undefined },
    ]);
  });

  it("reports of every change with the state before and after, until that is ended", () => {
    const changes: PodChange[] = [];
    const end = pods.onChanged((change) => changes.push(change));
    const report = connect("a");
    report.sent("v1");
    report.accepted("v1");
    report.rejected("v2", "no");
    report.left();
    expect(changes.map(({ kind, before, pod }) => [kind, before?.accepted?.version, pod.accepted?.version])).toEqual([
      ["connected", undefined, undefined],
      ["sent", undefined, undefined],
      ["accepted", undefined, "v1"],
      ["rejected", "v1", "v1"],
      ["left", "v1", "v1"],
    ]);
    expect([changes[0]?.before, changes[1]?.before]).toEqual([undefined, changes[0]?.pod]);
    end();
    connect("b");
    expect(changes).toHaveLength(5);
  });

  it("reports nothing of reports that come after the end of the stream, and of the end once", () => {
    const report = connect("a");
    const kinds: string[] = [];
    pods.onChanged(({ kind }) => kinds.push(kind));
    report.left();
    report.left();
    report.sent("v1");
    report.accepted("v1");
    expect([kinds, pods.list()]).toEqual([["left"], []]);
  });
});
