// Tests of pod-registry.ts: what is known of pods, in which order, and who hears of changes.
import { beforeEach, describe, expect, it } from "vitest";

import type { Revision } from "../snapshot/revision.ts";
import { revisionOf } from "../snapshot/revisions.suite.ts";
import { Snapshot } from "../snapshot/snapshot.ts";
import type { ResourceNack, SentRevisions } from "./pod-revisions.ts";
import { PodRegistry, type PodChange, type PodReport } from "./pod-registry.ts";

/** A whole response. */
const ALL: SentRevisions = {
  snapshot: new Snapshot([revisionOf({ name: "a" }), revisionOf({ name: "b" })]),
  names: undefined,
};

const NO_NACKS: ReadonlyMap<string, ResourceNack> = new Map();

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

  it("remembers when a pod came, what it was sent and what it answered, and forgets a NACK when it ACKs its fleet's snapshot", () => {
    const report = connect("a");
    nowMs = 200;
    report.sent("v1");
    expect(pods.list()).toMatchObject([{ sent: { version: "v1", atMs: 200 }, lastAnswer: undefined }]);
    nowMs = 300;
    report.rejected("v1", "no", NO_NACKS);
    expect(pods.list()).toMatchObject([
      {
        connectedMs: 100,
        sent: { version: "v1", atMs: 200 },
        lastAnswer: "nack",
        accepted: undefined,
        acked: undefined,
        rejected: { version: "v1", atMs: 300, message: "no" },
      },
    ]);
    nowMs = 400;
    report.accepted(ALL);
    expect(pods.list()).toMatchObject([
      {
        sent: { version: "v1" },
        lastAnswer: "ack",
        accepted: { version: ALL.snapshot.version, atMs: 400 },
        acked: ALL,
        rejected: undefined,
      },
    ]);
    report.sent("v3");
    expect(pods.list()).toMatchObject([{ lastAnswer: undefined, accepted: { version: ALL.snapshot.version } }]);
  });

  it("keeps a NACK when the pod ACKs a snapshot with earlier revisions, until it ACKs without", () => {
    const report = connect("a");
    const nacks = new Map([["default/a", { digests: new Set(["x"]), sinceMs: 100, message: "default/a: no" }]]);
    report.rejected(ALL.snapshot.version, "default/a: no", nacks);
    const choice = ALL.snapshot.withEarlier(new Map([["default/a", undefined]]));
    report.chosen(choice, nacks);
    report.accepted({ snapshot: choice, names: undefined });
    expect(pods.list()).toMatchObject([{ choice, nacks, lastAnswer: "ack", rejected: { message: "default/a: no" } }]);
    report.chosen(ALL.snapshot, NO_NACKS);
    report.accepted(ALL);
    expect(pods.list()).toMatchObject([{ choice: ALL.snapshot, nacks: NO_NACKS, rejected: undefined }]);
  });

  it("forgets a NACK, and reports that, when the pod should have what it ACKed last", () => {
    const report = connect("a");
    const kinds: string[] = [];
    pods.onChanged(({ kind, pod }) => kinds.push(`${kind} ${pod.rejected?.message ?? "none"}`));
    report.accepted(ALL);
    report.sent("v2");
    report.rejected("v2", "no", NO_NACKS);
    report.chosen(ALL.snapshot, NO_NACKS);
    expect(kinds).toEqual(["accepted none", "sent none", "rejected no", "chosen none"]);
    // Not while an answer is due: it may have something else by then.
    report.sent("v3");
    report.rejected("v3", "no", NO_NACKS);
    report.sent("v4");
    report.chosen(ALL.snapshot, NO_NACKS);
    expect(pods.list()).toMatchObject([{ rejected: { version: "v3" } }]);
  });

  it("keeps the NACKs as they were at each report", () => {
    const report = connect("a");
    const nacks = new Map([["default/a", { digests: new Set(["x"]), sinceMs: 100, message: "no" }]]);
    report.rejected("v1", "no", nacks);
    nacks.clear();
    expect([...(pods.list()[0]?.nacks.keys() ?? [])]).toEqual(["default/a"]);
  });

  it("moves the last answer to a version that changes nothing for the pod, and no older one", () => {
    const [acked, nacked, behind, fresh] = ["a", "b", "c", "d"].map((id) => connect(id)) as [
      PodReport,
      PodReport,
      PodReport,
      PodReport,
    ];
    for (const report of [acked, nacked, behind]) report.sent(ALL.snapshot.version);
    acked.accepted(ALL);
    nacked.rejected(ALL.snapshot.version, "no", NO_NACKS);
    behind.accepted(ALL);
    behind.sent("v2");
    behind.rejected("v2", "no", NO_NACKS);
    for (const report of [acked, nacked, behind, fresh]) report.unaffected("v3");
    expect(
      pods.list().map(({ sent, accepted, rejected }) => [sent?.version, accepted?.version, rejected?.version]),
    ).toEqual([
      ["v3", "v3", undefined],
      ["v3", undefined, "v3"],
      ["v3", ALL.snapshot.version, "v3"],
      [undefined, undefined, undefined],
    ]);
  });

  it("reports of every change with the state before and after, until that is ended", () => {
    const changes: PodChange[] = [];
    const end = pods.onChanged((change) => changes.push(change));
    const report = connect("a");
    report.sent("v1");
    report.accepted(ALL);
    report.rejected("v2", "no", NO_NACKS);
    report.left();
    const { version } = ALL.snapshot;
    expect(changes.map(({ kind, before, pod }) => [kind, before?.accepted?.version, pod.accepted?.version])).toEqual([
      ["connected", undefined, undefined],
      ["sent", undefined, undefined],
      ["accepted", undefined, version],
      ["rejected", version, version],
      ["left", version, version],
    ]);
    expect([changes[0]?.before, changes[1]?.before]).toEqual([undefined, changes[0]?.pod]);
    end();
    connect("b");
    expect(changes).toHaveLength(5);
  });

  it("reports another choice, and the same one only once", () => {
    const report = connect("a");
    const kinds: string[] = [];
    pods.onChanged(({ kind, pod }) => kinds.push(`${kind} ${pod.choice?.revisions.length}`));
    const other = new Snapshot([revisionOf({ name: "a", content: 2 }), revisionOf({ name: "b" })]);
    report.chosen(ALL.snapshot, NO_NACKS);
    report.chosen(other, NO_NACKS);
    expect([kinds.splice(0), pods.list()[0]?.choice]).toEqual([["chosen 2", "chosen 2"], other]);
    const choice = other.withEarlier(new Map([["default/a", undefined]]));
    for (const each of [choice, choice, other]) report.chosen(each, NO_NACKS);
    expect(kinds).toEqual(["chosen 1", "chosen 2"]);
  });

  it("reports nothing of reports that come after the end of the stream, and of the end once", () => {
    const report = connect("a");
    const kinds: string[] = [];
    pods.onChanged(({ kind }) => kinds.push(kind));
    report.left();
    report.left();
    report.sent("v1");
    report.accepted(ALL);
    expect([kinds, pods.list()]).toEqual([["left"], []]);
  });
});

describe("PodRegistry.loadedRevisions()", () => {
  it("knows the revisions in the last ACK of each connected pod, and no others", () => {
    const pods = new PodRegistry({ clock: () => 0 });
    const revisions = ["a", "b"].flatMap((name) => [1, 2, 3].map((content) => revisionOf({ name, content })));
    const [a1, a2, a3, b1, b2, b3] = revisions as [Revision, Revision, Revision, Revision, Revision, Revision];
    const connect = (nodeId: string): PodReport =>
      pods.connected({ nodeId, fleet: "edge", namespace: "", pod: "", peer: "192.0.2.1:1" });
    const [all, some, gone, silent] = ["all", "some", "gone", "silent"].map(connect) as [
      PodReport,
      PodReport,
      PodReport,
      PodReport,
    ];
    all.accepted({ snapshot: new Snapshot([a3, b3]), names: undefined });
    all.accepted({ snapshot: new Snapshot([a1, b1]), names: undefined });
    some.accepted({ snapshot: new Snapshot([a2, b2]), names: new Set(["default/b"]) });
    gone.accepted({ snapshot: new Snapshot([a3]), names: undefined });
    gone.left();
    silent.sent(new Snapshot([a3]).version);
    const isLoaded = pods.loadedRevisions();
    expect(revisions.filter(isLoaded)).toEqual([a1, b1, b2]);
  });
});
