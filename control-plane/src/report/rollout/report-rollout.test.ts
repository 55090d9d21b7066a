// Tests of report-rollout.ts, report-resources.ts, find-warnings.ts and rollout-message.ts: one
// state, as the report and as the message of the API.
import { create, toJson } from "@bufbuild/protobuf";
import { RateLimitDescriptorSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { RolloutFilterSchema, RolloutSchema } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { describe, expect, it } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import type { PodState } from "../../pods/pod-registry.ts";
import { entryFor } from "../../snapshot/publication.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { ManifestStore } from "../../source/directory/manifest-store.ts";
import type { SourceState } from "../../source/source.ts";
import { findWarnings } from "./find-warnings.ts";
import {
  AT,
  AT_MS,
  podOf,
  podThatAcked,
  podThatNacked,
  podThatNackedAll,
  publisherOf,
  publisherOfState,
  reportOf,
  snapshotIn,
  UNREAD,
} from "./rollout-facts.suite.ts";
import { reportRollout } from "./report-rollout.ts";
import { filterOf, rolloutMessage } from "./rollout-message.ts";

const ONE = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) });
const VERSION = "974030ee43ece499b7070d448d1e0586";
const EVENT = { version: VERSION, atMs: AT_MS };

/** One pod that NACKed `default/a` by name, and serves it with a limit of 9, or not at all. */
function nackedBy(publisher: PublisherState, serves: "earlier" | "nothing"): readonly PodState[] {
  const earlier = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha", requestsPerUnit: 9 }) });
  const revision = serves === "nothing" ? undefined : snapshotIn(earlier).get("default/a");
  return [podThatNacked(snapshotIn(publisher), [{ name: "default/a", revision }])];
}

describe("reportRollout()", () => {
  it("counts no pod as current with a refused resource that is served while an empty set is held back", () => {
    const refused = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha", unit: "fortnight" }) });
    const publisher = { ...refused, publication: ONE.publication };
    const [resource] = reportOf(publisher, [podOf({}), podThatAcked(snapshotIn(ONE))]).resources;
    expect(resource).toMatchObject({ state: "refused", podStates: { current: 0, pending: 2 } });
  });

  it("reports what is served, and which pod has accepted which version", () => {
    expect(reportOf(ONE, [podThatAcked(snapshotIn(ONE))])).toEqual({
      replica: "replica-1",
      instance: "process-1",
      observedAt: AT,
      ready: true,
      notReady: null,
      source: { location: "limits", error: null, syncedAt: AT },
      fleets: [
        {
          fleet: "*",
          version: VERSION,
          resources: 1,
          bytes: 204,
          publishedAt: AT,
          heldBack: null,
          pods: 1,
          podStates: { current: 1, rejected: 0, pending: 0, waiting: 0 },
        },
      ],
      resources: [
        {
          resource: "default/a",
          namespace: "default",
          name: "a",
          domain: "alpha",
          generation: null,
          fleets: null,
          state: "served",
          reason: null,
          problems: [],
          servesLastGood: false,
          file: "a.yaml",
          line: 1,
          pods: 1,
          podStates: { current: 1, rejected: 0, pending: 0, waiting: 0 },
          warnings: [],
          uid: null,
          observedGeneration: null,
          fleetStates: [
            {
              fleet: "*",
              digest: snapshotIn(ONE).get("default/a")?.digest,
              acceptedGroups: [1],
              pendingGroups: [],
              rejections: [],
            },
          ],
          settledDigest: null,
        },
      ],
      refusals: [],
      pods: [
        {
          node: "gateway/pod-7",
          pod: "pod-7",
          namespace: "edge",
          fleet: "gateway",
          peer: "192.0.2.1:4711",
          connectedAt: AT,
          state: "current",
          sent: { version: VERSION, at: AT },
          accepted: { version: VERSION, at: AT },
          rejected: null,
          warnings: [],
          group: 1,
        },
      ],
    });
  });

  it.each([
    { when: "it has ACKed the active snapshot", pod: podThatAcked(snapshotIn(ONE)), state: "current" },
    {
      when: "it has ACKed something else",
      pod: podThatAcked(snapshotIn(ONE), { accepted: { ...EVENT, version: "old" } }),
      state: "pending",
    },
    { when: "it has not answered", pod: podOf({ sent: EVENT }), state: "pending" },
    {
      when: "it has ACKed the active snapshot, and was sent something else since that it has not answered",
      pod: podThatAcked(snapshotIn(ONE), { sent: { ...EVENT, version: "other" }, lastAnswer: undefined }),
      state: "pending",
    },
    {
      when: "it has NACKed the active snapshot",
      pod: podThatNackedAll(snapshotIn(ONE), undefined, "no"),
      state: "rejected",
    },
    {
      when: "it has NACKed a part of the active snapshot, and ACKed the rest",
      pod: podThatNacked(snapshotIn(ONE), [{ name: "default/a", revision: undefined }]),
      state: "rejected",
    },
    {
      when: "it has NACKed something before what it was sent last",
      pod: podOf({ sent: EVENT, rejected: { ...EVENT, version: "old", message: "no" } }),
      state: "pending",
    },
  ])("says that a pod is $state when $when", ({ pod, state }) => {
    expect(reportOf(ONE, [pod]).pods[0]?.state).toBe(state);
  });

  it("says that a pod waits when no snapshot is active", () => {
    const report = reportOf(UNREAD, [podOf({})]);
    expect([report.pods[0]?.state, report.fleets, report.source.error]).toEqual([
      "waiting",
      [],
      "Cannot read the folder x",
    ]);
  });

  it("says why it is not ready, and what keeps the source from following", () => {
    const source = { location: "limits", condition: () => ({ syncedMs: undefined, problem: "the server is away" }) };
    const facts = {
      replica: "replica-1",
      instance: "process-1",
      nowMs: AT_MS,
      notReady: "it is shutting down",
      source,
      publisher: ONE,
      pods: [],
    };
    expect(reportRollout(facts)).toMatchObject({
      ready: false,
      notReady: "it is shutting down",
      source: { error: "the server is away", syncedAt: null },
    });
  });

  it("counts pods with the snapshot that they are sent, and resources with the pods that are sent them", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta", fleets: ["gold"] }),
    });
    const pods = [
      podThatAcked(snapshotIn(publisher, "gold"), { fleet: "gold" }),
      podOf({ fleet: "silver" }),
      podOf({ fleet: "default" }),
    ];
    const { fleets, resources } = reportOf(publisher, pods);
    expect(fleets.map(({ fleet, pods: count }) => [fleet, count])).toEqual([
      ["*", 2],
      ["gold", 1],
    ]);
    expect(resources.map(({ resource, pods: count, podStates }) => [resource, count, podStates])).toEqual([
      ["default/a", 3, { current: 1, rejected: 0, pending: 2, waiting: 0 }],
      ["default/b", 1, { current: 1, rejected: 0, pending: 0, waiting: 0 }],
    ]);
  });

  it("reports of refused resources with their domain, reason and problems", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "alpha" }),
      "c.yaml": manifest({ name: "c", domain: "gamma" }).replace(
        "- key: user",
        "- { key: user, value: same }\n    - key: user\n      value: same",
      ),
      "d.yaml": "",
    });
    const report = reportOf(publisher);
    expect(
      report.resources.map(({ resource, domain, state, reason, pods }) => [resource, domain, state, reason, pods]),
    ).toEqual([
      ["default/a", "alpha", "served", null, 0],
      ["default/b", "alpha", "refused", "DomainConflict", 0],
      ["default/c", "", "refused", "InvalidSpec", 0],
    ]);
    expect(report.resources.map(({ file, line }) => [file, line])).toEqual([
      ["a.yaml", 1],
      ["b.yaml", 1],
      ["c.yaml", 9],
    ]);
    expect(report.resources[2]?.problems).toMatchObject([
      { field: "spec.descriptors[1].key", file: "c.yaml", line: 9, column: 12 },
    ]);
    expect(report.refusals.map(({ resource, file }) => [resource, file])).toEqual([
      ["default/b", "b.yaml"],
      ["default/c", "c.yaml"],
      [null, "d.yaml"],
    ]);
  });

  it("sorts resources by name, and fleets, whatever order the source has them in", () => {
    const fleetsOf = (publisher: PublisherState): readonly string[] =>
      reportOf(publisher).fleets.map(({ fleet }) => fleet);
    const before = publisherOf({ "1.yaml": manifest({ name: "z", domain: "zeta", fleets: ["z"] }) });
    const after = publisherOf(
      {
        "1.yaml": manifest({ name: "z", domain: "zeta", fleets: ["z"] }),
        "2.yaml": manifest({ name: "a", domain: "alpha", fleets: ["a"] }),
      },
      { before },
    );
    expect([fleetsOf(after), reportOf(after).resources.map(({ resource }) => resource)]).toEqual([
      ["*", "a", "z"],
      ["default/a", "default/z"],
    ]);
  });

  it("reports of the last good revision of a resource why it is one, also when its file does not parse, and of no other file's problems", () => {
    const memory = new ManifestStore();
    const look = (files: Readonly<Record<string, string>>): SourceState =>
      memory.update(new Map(Object.entries(files).map(([path, text]) => [path, { kind: "text", text }] as const)));
    const [a, b] = [manifest({ name: "a", domain: "alpha" }), manifest({ name: "b", domain: "beta" })];
    look({ "a.yaml": a, "b.yaml": b });
    const read = look({ "a.yaml": `${a}\n  : [`, "b.yaml": b, "c.yaml": "" });
    const report = reportOf(publisherOfState(read));
    expect(report.resources).toMatchObject([
      {
        resource: "default/a",
        state: "last-good",
        reason: "InvalidSpec",
        servesLastGood: true,
        problems: [{ file: "a.yaml" }],
      },
      { resource: "default/b", state: "served", reason: null, problems: [] },
    ]);
    expect(report.resources[0]?.problems.map(({ message }) => message)).toEqual(
      report.refusals.filter(({ file }) => file === "a.yaml").map(({ message }) => message),
    );
    // Once: as a problem of the resource, and not of a file without one.
    expect(rolloutMessage(report).unreadable.map(({ location }) => location)).toEqual(["c.yaml:1:1"]);
    // Its own problem is enough when it has one.
    const broken = reportOf(
      publisherOfState(look({ "a.yaml": a.replace("minute", "fortnight"), "b.yaml": b, "c.yaml": "" })),
    );
    expect(broken.resources[0]).toMatchObject({
      state: "last-good",
      problems: [{ field: "spec.descriptors[0].rateLimit.unit" }],
    });
    expect(broken.resources[0]?.problems).toHaveLength(1);
  });

  it("says that a resource is served when only another of its name is refused", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "a", domain: "beta" }),
    });
    expect(reportOf(publisher).resources).toMatchObject([
      {
        resource: "default/a",
        domain: "alpha",
        state: "served",
        reason: "DuplicateResource",
        file: "a.yaml",
        problems: [{ file: "b.yaml" }],
      },
    ]);
  });

  it("names resources that do not fit, whether an earlier revision of them is active, and counts no pod as current with the new one", () => {
    const small = manifest({ name: "large", domain: "large" });
    const before = publisherOf({ "large.yaml": small }, { snapshotMaxBytes: 500 });
    const after = publisherOf(
      { "large.yaml": manifest({ name: "large", domain: "large", largeRules: 1 }) },
      { snapshotMaxBytes: 500, before },
    );
    const report = reportOf(after, [podThatAcked(snapshotIn(before))]);
    const message = "with it the configuration of fleet * has 1222 bytes, more than SNAPSHOT_MAX_BYTES, which is 500";
    const { version } = snapshotIn(before);
    expect(report.fleets[0]).toMatchObject({ version, heldBack: "too-large", podStates: { current: 1 } });
    expect(report.refusals).toMatchObject([
      { reason: "TooLarge", resource: "default/large", file: "large.yaml", message, keepsLastGood: true },
    ]);
    expect(report.resources).toMatchObject([
      {
        state: "last-good",
        reason: "TooLarge",
        servesLastGood: true,
        problems: [{ message }],
        pods: 1,
        podStates: { current: 0, pending: 1 },
      },
    ]);
  });

  it("serves everything else while a resource does not fit, also edits, and holds back only its fleets", () => {
    const a = (requestsPerUnit: number): string => manifest({ name: "a", domain: "alpha", requestsPerUnit });
    const before = publisherOf({ "a.yaml": a(5) }, { snapshotMaxBytes: 500 });
    const files = {
      "a.yaml": a(6),
      "large.yaml": manifest({ name: "large", domain: "large", largeRules: 1, fleets: ["gold"] }),
      "i.yaml": manifest({ name: "i", domain: "iron", fleets: ["iron"] }),
    };
    const after = publisherOf(files, { before, snapshotMaxBytes: 500 });
    const report = reportOf(after, [podThatAcked(snapshotIn(after))]);
    expect(report.resources).toMatchObject([
      { resource: "default/a", state: "served", reason: null, problems: [], podStates: { current: 1 } },
      { resource: "default/i", state: "served", pods: 0 },
      { resource: "default/large", state: "refused", reason: "TooLarge", servesLastGood: false, pods: 0 },
    ]);
    expect(report.refusals).toMatchObject([
      {
        resource: "default/large",
        message: expect.stringMatching(/^with it the configuration of fleet gold has \d+ bytes/) as unknown,
        keepsLastGood: false,
      },
    ]);
    expect(report.fleets.map(({ fleet, heldBack, resources }) => [fleet, heldBack, resources])).toEqual([
      ["*", null, 1],
      ["gold", "too-large", 1],
      ["iron", null, 2],
    ]);
  });

  it("says of what a pod lacks, because it NACKed a whole version, that it is quarantined, and why", () => {
    const before = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta" }),
    });
    const after = publisherOf(
      {
        "a.yaml": manifest({ name: "a", domain: "alpha", requestsPerUnit: 9 }),
        "b.yaml": manifest({ name: "b", domain: "beta" }),
        "c.yaml": manifest({ name: "c", domain: "gamma" }),
      },
      { before },
    );
    const pods = [
      podThatNackedAll(snapshotIn(after), snapshotIn(before), "out of memory"),
      podThatAcked(snapshotIn(after)),
    ];
    expect(reportOf(after, pods).resources).toMatchObject([
      {
        resource: "default/a",
        state: "quarantined",
        reason: "RejectedByDataPlane",
        servesLastGood: true,
        problems: [
          { file: "a.yaml", message: "pods of fleet * NACKed it, an earlier revision is active there: out of memory" },
        ],
        podStates: { current: 1, rejected: 1 },
      },
      { resource: "default/b", state: "served", reason: null, problems: [], podStates: { current: 2, rejected: 0 } },
      {
        resource: "default/c",
        state: "quarantined",
        reason: "RejectedByDataPlane",
        servesLastGood: false,
        problems: [{ message: "pods of fleet * NACKed it, it is left out there: out of memory" }],
        podStates: { current: 1, rejected: 1 },
      },
    ]);
  });

  it.each([
    { serves: "earlier" as const, servesLastGood: true, meanwhile: "an earlier revision is active there" },
    { serves: "nothing" as const, servesLastGood: false, meanwhile: "it is left out there" },
  ])("reports a resource that a pod NACKed, of which it is sent $serves", ({ serves, servesLastGood, meanwhile }) => {
    expect(reportOf(ONE, [...nackedBy(ONE, serves), podThatAcked(snapshotIn(ONE))]).resources).toMatchObject([
      {
        state: "quarantined",
        reason: "RejectedByDataPlane",
        servesLastGood,
        problems: [{ message: `pods of fleet * NACKed it, ${meanwhile}: default/a: no`, file: "a.yaml" }],
        pods: 2,
        podStates: { current: 1, rejected: 1, pending: 0 },
        warnings: [],
      },
    ]);
  });

  it.each([
    { what: "another fleet that it names", fleet: "gold", nacking: "iron" },
    { what: "another fleet that no resource names", fleet: "silver", nacking: "bronze" },
    { what: "another fleet, when none is named", fleet: "silver", nacking: "gold" },
  ])("keeps the NACKs of $what out of what a fleet sees of a resource", ({ fleet, nacking }) => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta", fleets: ["gold", "iron"] }),
    });
    const snapshotOf = (name: string): Snapshot => snapshotIn(publisher, entryFor(publisher.publication, name));
    const nacks = [{ name: "default/a", revision: undefined }];
    const pods = [
      podThatAcked(snapshotOf(fleet), { fleet }),
      podThatNacked(snapshotOf(nacking), nacks, { fleet: nacking }),
    ];
    const served = { state: "served", reason: null, problems: [], servesLastGood: false, warnings: [] };
    const podStates = { current: 1, rejected: 0, pending: 0, waiting: 0 };
    expect(reportOf(publisher, pods, { fleet }).resources[0]).toMatchObject({ ...served, pods: 1, podStates });
    expect(reportOf(publisher, pods, { fleet: nacking }).resources[0]).toMatchObject({ state: "quarantined", pods: 1 });
  });

  it("counts no pod of a fleet that does not receive a resource, whatever it NACKs", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta", fleets: ["gold"] }),
    });
    const nacks = ["default/a", "default/b"].map((name) => ({ name, revision: undefined }));
    const pods = [podThatNacked(snapshotIn(publisher), nacks, { fleet: "iron" })];
    expect(reportOf(publisher, pods).resources).toMatchObject([
      { resource: "default/a", state: "quarantined", pods: 1 },
      {
        ...{ resource: "default/b", state: "served", reason: null, problems: [], servesLastGood: false, pods: 0 },
        fleetStates: [{ fleet: "gold", acceptedGroups: [], pendingGroups: [], rejections: [] }],
      },
    ]);
  });

  it("reports each fleet and revision that pods have instead once, however many pods, and of twenty at most", () => {
    const texts = Object.fromEntries(
      Array.from({ length: 30 }, (_, index) => [
        `${index}.yaml`,
        manifest({ name: `n${index}`, domain: `d${index}`, fleets: [`f${String(index).padStart(2, "0")}`] }),
      ]),
    );
    const publisher = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }), ...texts });
    const fleets = [...publisher.publication.keys()];
    const pods = fleets.flatMap((fleet) => {
      const nack = { name: "default/a", revision: undefined };
      return [1, 2].map(() => podThatNacked(snapshotIn(publisher, fleet), [nack], { fleet }));
    });
    const reportOfA = (filter = {}) => reportOf(publisher, pods, filter).resources[0];
    expect(reportOfA()?.problems).toHaveLength(20);
    expect(reportOfA({ fleet: "f07" })?.problems.map(({ message }) => message)).toEqual([
      "pods of fleet f07 NACKed it, it is left out there: default/a: no",
    ]);
    expect(reportOfA()?.podStates).toEqual({ current: 0, rejected: 62, pending: 0, waiting: 0 });
  });

  it("says that a resource is served when the pod that NACKed it has gone, or has ACKed an edit", () => {
    const edited = publisherOf({ "a.yaml": manifest({ name: "a", domain: "alpha", requestsPerUnit: 6 }) });
    expect([reportOf(ONE, []), reportOf(edited, [podThatAcked(snapshotIn(edited))])]).toMatchObject([
      { resources: [{ state: "served", reason: null }] },
      { resources: [{ state: "served", reason: null }] },
    ]);
  });

  it("warns of fields that pods of the reference service do not know", () => {
    const text = manifest({ name: "a", domain: "alpha" }).replace(
      "- key: user",
      "- key: user\n      valueToMetric: true",
    );
    expect(reportOf(publisherOf({ "a.yaml": text })).resources[0]?.warnings).toEqual([
      "spec.descriptors[0].valueToMetric: pods of envoyproxy/ratelimit ignore this field",
    ]);
  });
});

describe("findWarnings()", () => {
  it.each([
    { fields: 10, further: [] },
    { fields: 12, further: ["and 2 more fields like these"] },
  ])("reports ten fields at most, and how many more there are, when there are $fields", ({ fields, further }) => {
    const descriptors = Array.from({ length: fields }, (_, index) =>
      create(RateLimitDescriptorSchema, { key: `k${index}`, shareThreshold: true }),
    );
    expect(findWarnings({ descriptors })).toEqual([
      ...Array.from(
        { length: 10 },
        (_, index) => `spec.descriptors[${index}].shareThreshold: pods of envoyproxy/ratelimit ignore this field`,
      ),
      ...further,
    ]);
  });

  it("finds fields at every depth", () => {
    const leaf = create(RateLimitDescriptorSchema, { key: "c", shareThreshold: true, valueToMetric: true });
    const middle = create(RateLimitDescriptorSchema, { key: "b", descriptors: [leaf] });
    expect(
      findWarnings({ descriptors: [create(RateLimitDescriptorSchema, { key: "a", descriptors: [middle] })] }),
    ).toEqual([
      "spec.descriptors[0].descriptors[0].descriptors[0].valueToMetric: pods of envoyproxy/ratelimit ignore this field",
      "spec.descriptors[0].descriptors[0].descriptors[0].shareThreshold: pods of envoyproxy/ratelimit ignore this field",
    ]);
  });
});

describe("reportRollout() with a filter", () => {
  const PUBLISHER = publisherOf({
    "a.yaml": manifest({ name: "a", domain: "alpha", namespace: "red" }),
    "b.yaml": manifest({ name: "b", domain: "beta", namespace: "red", fleets: ["gold"] }),
    "c.yaml": manifest({ name: "b", domain: "gamma", namespace: "blue", fleets: ["iron"] }),
    "d.yaml": "",
  });
  const PODS = [podOf({ nodeId: "g", fleet: "gold" }), podOf({ nodeId: "s", fleet: "silver" })];

  it.each([
    {
      filter: {},
      fleets: ["*", "gold", "iron"],
      resources: ["blue/b", "red/a", "red/b"],
      pods: ["g", "s"],
      unnamed: 1,
    },
    { filter: { fleet: "gold" }, fleets: ["gold"], resources: ["red/a", "red/b"], pods: ["g"], unnamed: 1 },
    { filter: { fleet: "silver" }, fleets: ["*"], resources: ["red/a"], pods: ["s"], unnamed: 1 },
    { filter: { fleet: "*" }, fleets: ["*"], resources: ["red/a"], pods: ["s"], unnamed: 1 },
    {
      filter: { namespace: "red" },
      fleets: ["*", "gold", "iron"],
      resources: ["red/a", "red/b"],
      pods: ["g", "s"],
      unnamed: 0,
    },
    {
      filter: { name: "b" },
      fleets: ["*", "gold", "iron"],
      resources: ["blue/b", "red/b"],
      pods: ["g", "s"],
      unnamed: 0,
    },
    { filter: { namespace: "red", name: "b", fleet: "iron" }, fleets: ["iron"], resources: [], pods: [], unnamed: 0 },
  ])("narrows to $filter", ({ filter, fleets, resources, pods, unnamed }) => {
    const report = reportOf(PUBLISHER, PODS, filter);
    expect(report.fleets.map(({ fleet }) => fleet)).toEqual(fleets);
    expect(report.resources.map(({ resource }) => resource)).toEqual(resources);
    expect(report.pods.map(({ node }) => node)).toEqual(pods);
    expect(report.refusals.filter(({ resource }) => resource === null)).toHaveLength(unnamed);
  });
});

describe("rolloutMessage()", () => {
  it("says the same as the report", () => {
    const publisher = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "alpha" }),
      "c.yaml": "",
      "d.yaml": "kind: Limit",
    });
    const pods = nackedBy(publisher, "earlier");
    expect(toJson(RolloutSchema, rolloutMessage(reportOf(publisher, pods)))).toMatchObject({
      replica: "replica-1",
      instance: "process-1",
      observedAt: "2026-01-31T12:00:00Z",
      ready: true,
      source: { location: "limits", syncedAt: "2026-01-31T12:00:00Z" },
      fleets: [
        {
          name: "*",
          version: VERSION,
          resources: 1,
          bytes: "204",
          publishedAt: "2026-01-31T12:00:00Z",
          pods: { total: 1, rejected: 1 },
        },
      ],
      resources: [
        {
          namespace: "default",
          name: "a",
          domain: "alpha",
          state: "RESOURCE_STATE_QUARANTINED",
          reason: "RejectedByDataPlane",
          servesLastGood: true,
          location: "a.yaml:1",
          pods: { total: 1, rejected: 1 },
        },
        {
          name: "b",
          state: "RESOURCE_STATE_REFUSED",
          reason: "DomainConflict",
          problems: [{ field: "spec.domain", location: "b.yaml:6:11" }],
        },
      ],
      unreadable: [
        { location: "c.yaml:1:1", message: "the file is empty; delete it if there should be nothing" },
        { location: "d.yaml:1:1", message: 'apiVersion: is required: must be "ratelimit.weir.dev/v1alpha1"' },
        { location: "d.yaml:1:7", message: 'kind: must be "RateLimitConfig", is "Limit"' },
      ],
      pods: [
        {
          nodeId: "gateway/pod-7",
          pod: "pod-7",
          namespace: "edge",
          fleet: "gateway",
          peer: "192.0.2.1:4711",
          state: "POD_STATE_REJECTED",
          sent: { version: pods[0]?.accepted?.version, at: "2026-01-31T12:00:00Z" },
          accepted: { version: pods[0]?.accepted?.version, at: "2026-01-31T12:00:00Z" },
          rejected: { version: VERSION, at: "2026-01-31T12:00:00Z" },
          rejection: "default/a: no",
        },
      ],
    });
  });

  it("counts pods for which no snapshot is active as pending, and leaves out times that are not known", () => {
    const source = { location: "limits", condition: () => ({ syncedMs: undefined, problem: undefined }) };
    const report = reportRollout({
      replica: "r",
      instance: "i",
      nowMs: AT_MS,
      notReady: "starting",
      source,
      publisher: UNREAD,
      pods: [podOf({})],
    });
    expect(toJson(RolloutSchema, rolloutMessage(report))).toEqual({
      replica: "r",
      instance: "i",
      observedAt: "2026-01-31T12:00:00Z",
      source: { location: "limits", error: "Cannot read the folder x" },
      pods: [
        {
          nodeId: "gateway/pod-7",
          pod: "pod-7",
          namespace: "edge",
          fleet: "gateway",
          peer: "192.0.2.1:4711",
          connectedAt: "2026-01-31T12:00:00Z",
        },
      ],
    });
  });
});

describe("filterOf()", () => {
  it("narrows nothing by empty fields", () => {
    expect(filterOf(undefined)).toEqual({ settledDigests: false });
    expect(filterOf(create(RolloutFilterSchema, { fleet: "gold" }))).toEqual({ fleet: "gold", settledDigests: false });
  });
});
