// Tests of sync-status.ts: the state of a pod for a version, and for each resource.
import { describe, expect, it } from "vitest";

import type { Revision } from "../snapshot/revision.ts";
import { revisionOf } from "../snapshot/revisions.suite.ts";
import { Snapshot } from "../snapshot/snapshot.ts";
import type { PodState } from "./pod-registry.ts";
import { deviationOf, syncStatusOf } from "./sync-status.ts";

const [OLD, NEW] = [revisionOf({ name: "a", content: "old" }), revisionOf({ name: "a", content: "new" })];
const B = revisionOf({ name: "b" });
const BEFORE = new Snapshot([OLD, B]);
const PUBLISHED = new Snapshot([NEW, B]);

/** A pod that has done nothing but what is given. */
function podOf(difference: Partial<PodState>): PodState {
  return {
    nodeId: "edge/1",
    fleet: "edge",
    namespace: "",
    pod: "",
    peer: "192.0.2.1:1",
    connectedMs: 0,
    sent: undefined,
    lastAnswer: undefined,
    accepted: undefined,
    acked: undefined,
    rejected: undefined,
    nacks: new Map(),
    choice: PUBLISHED,
    ...difference,
  };
}

const ACCEPTED = { version: "v2", atMs: 1 };
const REJECTED = { version: "v2", atMs: 2, message: "no" };

describe("syncStatusOf()", () => {
  it.each([
    { when: "no version is active", pod: { lastAnswer: "ack" }, version: undefined, status: "waiting" },
    { when: "it was sent nothing", pod: {}, status: "pending" },
    { when: "it ACKed the version last", pod: { lastAnswer: "ack", accepted: ACCEPTED }, status: "current" },
    {
      when: "it ACKed the version before it was sent another, and has not answered that",
      pod: { accepted: ACCEPTED },
      status: "pending",
    },
    {
      when: "it ACKed another version",
      pod: { lastAnswer: "ack", accepted: { ...ACCEPTED, version: "v1" } },
      status: "pending",
    },
    {
      when: "it ACKed another version because it NACKed a part of this one",
      pod: { lastAnswer: "ack", accepted: { ...ACCEPTED, version: "v1" }, rejected: REJECTED },
      status: "rejected",
    },
    { when: "it NACKed last", pod: { lastAnswer: "nack", rejected: REJECTED }, status: "rejected" },
    {
      when: "it NACKed last, and ACKed this version before",
      pod: { lastAnswer: "nack", accepted: ACCEPTED, rejected: { ...REJECTED, version: "v3" } },
      status: "rejected",
    },
    {
      when: "it NACKed something, and has not answered what it was sent since",
      pod: { rejected: REJECTED },
      status: "pending",
    },
  ] as const)("is $status when $when", (row) => {
    const { accepted, rejected, lastAnswer } = podOf(row.pod);
    const version = "version" in row ? row.version : "v2";
    expect(syncStatusOf({ accepted, rejected, lastAnswer }, version)).toBe(row.status);
  });
});

describe("deviationOf()", () => {
  const NACKS = new Map([["default/a", { digests: new Set([NEW.digest]), sinceMs: 5, message: "default/a: no" }]]);

  /** The fleet's snapshot with something else instead of the resource. */
  function instead(revision: Revision | undefined): Snapshot {
    return PUBLISHED.withEarlier(new Map([[NEW.name, revision]]));
  }

  it.each([
    { when: "it NACKed nothing", pod: { lastAnswer: "ack", acked: { snapshot: BEFORE, names: undefined } } },
    {
      when: "an earlier revision is sent instead",
      pod: { rejected: REJECTED, nacks: NACKS, choice: instead(OLD) },
      deviation: { revision: OLD, message: "default/a: no", sinceMs: 5 },
    },
    {
      when: "it is left out",
      pod: { rejected: REJECTED, nacks: NACKS, choice: instead(undefined) },
      deviation: { revision: undefined, message: "default/a: no", sinceMs: 5 },
    },
    {
      when: "it is left out because the namespace is restricted, though this resource was not NACKed",
      pod: { rejected: REJECTED, choice: instead(undefined) },
      deviation: { revision: undefined, message: "no", sinceMs: 2 },
    },
    {
      when: "the last NACK named no resource and the pod has an earlier revision",
      pod: { rejected: REJECTED, lastAnswer: "nack", acked: { snapshot: BEFORE, names: undefined } },
      deviation: { revision: OLD, message: "no", sinceMs: 2 },
    },
    {
      when: "the last NACK named no resource and the pod has none",
      pod: { rejected: REJECTED, lastAnswer: "nack" },
      deviation: { revision: undefined, message: "no", sinceMs: 2 },
    },
    {
      when: "the pod has the published revision and NACKed something else",
      pod: { rejected: REJECTED, lastAnswer: "nack", acked: { snapshot: PUBLISHED, names: undefined } },
    },
    {
      when: "another resource is of an earlier revision and the pod has ACKed that",
      pod: {
        rejected: REJECTED,
        lastAnswer: "ack",
        choice: PUBLISHED.withEarlier(new Map([[B.name, undefined]])),
        acked: { snapshot: BEFORE, names: undefined },
      },
    },
  ] as readonly { when: string; pod: Partial<PodState>; deviation?: unknown }[])(
    "is $deviation when $when",
    ({ pod, deviation }) => {
      expect(deviationOf(podOf(pod), NEW)).toEqual(deviation);
    },
  );
});
