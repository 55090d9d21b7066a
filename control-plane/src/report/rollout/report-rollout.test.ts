// Tests of report-rollout.ts, report-resources.ts, find-warnings.ts and rollout-message.ts: one
// state, as the report and as the message of the API.
import { create, toJson } from "@bufbuild/protobuf";
import { RateLimitDescriptorSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { RolloutFilterSchema, RolloutSchema } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { describe, expect, it } from "vitest";

import { manifest } from "../../assemble/manifests.suite.ts";
import type { PublisherState } from "../../snapshot/publisher.ts";
import { ManifestStore } from "../../source/directory/manifest-store.ts";
import type { SourceState } from "../../source/source.ts";
import { findWarnings } from "./find-warnings.ts";
import {
  AT,
  AT_MS,
  podOf,
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

/** `default/a` as pods reject it. */
function rejectedBy(publisher: PublisherState, serves: "present" | "last-good" | "nothing"): PublisherState {
  const rejected = {
    fleet: "",
    resource: "default/a",
    sinceMs: AT_MS,
    message: "default/a: no",
    serves,
    nackingPods: 2,
  };
  return { ...publisher, nacks: { resources: [rejected], versions: [] } };
}

describe("reportRollout()", () => {
  it("reports what is served, and which pod has accepted which version", () => {
    expect(reportOf(ONE, [podOf({ sent: EVENT, accepted: EVENT })])).toEqual({
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
        },
      ],
    });
  });

  it.each([
    { when: "it has accepted the active snapshot", pod: podOf({ accepted: EVENT }), state: "current" },
    {
      when: "it has accepted something else",
      pod: podOf({ accepted: { ...EVENT, version: "old" } }),
      state: "pending",
    },
    { when: "it has not answered", pod: podOf({ sent: EVENT, isAnswered: false }), state: "pending" },
    {
      when: "it has accepted the active snapshot again, and was sent something else between that it has not answered",
      pod: podOf({ sent: { ...EVENT, version: "other" }, isAnswered: false, accepted: EVENT }),
      state: "pending",
    },
    {
      when: "it has rejected the active snapshot",
      pod: podOf({ rejected: { ...EVENT, message: "no" } }),
      state: "rejected",
    },
    {
      when: "it has rejected something else",
      pod: podOf({ rejected: { ...EVENT, version: "old", message: "no" } }),
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
    const gold = { version: publisher.publication.get("gold")?.snapshot?.version ?? "", atMs: AT_MS };
    const pods = [podOf({ fleet: "gold", accepted: gold }), podOf({ fleet: "silver" }), podOf({ fleet: "default" })];
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

  it("reports of the last good form of a resource why it is one, also when its file does not parse, and of no other file's problems", () => {
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

  it("names resources that make a snapshot too large, whether an earlier form of them is active, and counts nobody as current with the new one", () => {
    const small = manifest({ name: "large", domain: "large" });
    const before = publisherOf({ "large.yaml": small }, { snapshotMaxBytes: 500 });
    const after = publisherOf(
      { "large.yaml": manifest({ name: "large", domain: "large", largeRules: 1 }) },
      { snapshotMaxBytes: 500, before },
    );
    const now = { version: snapshotIn(before).version, atMs: AT_MS };
    const report = reportOf(after, [podOf({ accepted: now })]);
    const message =
      "with it the configuration of fleet * has 1222 bytes, more than SNAPSHOT_MAX_BYTES; the earlier configuration stays active";
    expect(report.fleets[0]).toMatchObject({ version: now.version, heldBack: "too-large", podStates: { current: 1 } });
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
    const never = reportOf(
      publisherOf(
        {
          "large.yaml": manifest({ name: "large", domain: "large", largeRules: 1 }),
          "small.yaml": manifest({ name: "a", domain: "alpha" }),
        },
        { snapshotMaxBytes: 500 },
      ),
      [podOf({})],
    );
    expect(never.resources).toMatchObject([
      { resource: "default/a", state: "refused", reason: "TooLarge", servesLastGood: false, pods: 0 },
      { resource: "default/large", state: "refused", reason: "TooLarge", servesLastGood: false, pods: 0 },
    ]);
    expect(never.refusals.map(({ resource, message: text }) => [resource, text])).toEqual([
      [
        "default/large",
        "with it the configuration of fleet * has 1325 bytes, more than SNAPSHOT_MAX_BYTES; the earlier configuration stays active",
      ],
      [
        "default/a",
        "it waits together with larger ones: the configuration of fleet * has 1325 bytes, more than SNAPSHOT_MAX_BYTES; the earlier configuration stays active",
      ],
    ]);
    expect(never.fleets).toEqual([
      {
        fleet: "*",
        version: null,
        resources: 0,
        bytes: 0,
        publishedAt: null,
        heldBack: "too-large",
        pods: 1,
        podStates: { current: 0, rejected: 0, pending: 0, waiting: 1 },
      },
    ]);
  });

  it("works out once what a snapshot that is too large keeps back", () => {
    const large = publisherOf(
      { "large.yaml": manifest({ name: "large", domain: "large", largeRules: 1 }) },
      { snapshotMaxBytes: 500 },
    );
    let times = 0;
    const accepted = large.desired?.accepted ?? [];
    const counted = accepted.map((resource) => ({
      ...resource,
      get place() {
        times += 1;
        return resource.place;
      },
    }));
    const report = reportOf({ ...large, desired: { refusals: [], fleets: [], ...large.desired, accepted: counted } });
    expect([report.refusals.length, report.resources.length, times]).toEqual([1, 1, 2]); // Once for the refusal, once for the resource.
  });

  it("says of an edit that has to wait with a snapshot that is too large that it is not served", () => {
    const small = manifest({ name: "a", domain: "alpha", requestsPerUnit: 100_000 });
    const before = publisherOf({ "a.yaml": small }, { snapshotMaxBytes: 500 });
    const files = {
      // Smaller than before: it is not to blame.
      "a.yaml": manifest({ name: "a", domain: "alpha", requestsPerUnit: 1 }),
      "large.yaml": manifest({ name: "large", domain: "large", largeRules: 1 }),
      "c.yaml": manifest({ name: "c", domain: "gamma" }),
    };
    const report = reportOf(publisherOf(files, { before, snapshotMaxBytes: 500 }), [podOf({})]);
    expect(report.resources).toMatchObject([
      {
        resource: "default/a",
        state: "last-good",
        reason: "TooLarge",
        servesLastGood: true,
        problems: [
          {
            message: expect.stringMatching(
              /^it waits together with larger ones: the configuration of fleet \* has/,
            ) as unknown,
          },
        ],
      },
      { resource: "default/c", state: "refused", reason: "TooLarge" },
      { resource: "default/large", state: "refused", reason: "TooLarge" },
    ]);
  });

  it("says of what is not active, because pods rejected a whole version, that it is not served, and why", () => {
    const before = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha" }),
      "b.yaml": manifest({ name: "b", domain: "beta" }),
    });
    const wanted = publisherOf({
      "a.yaml": manifest({ name: "a", domain: "alpha", requestsPerUnit: 9 }),
      "b.yaml": manifest({ name: "b", domain: "beta" }),
      "c.yaml": manifest({ name: "c", domain: "gamma" }),
    });
    const hold = {
      kind: "rejected" as const,
      version: snapshotIn(wanted).version,
      sinceMs: AT_MS,
      message: "out of memory",
    };
    const publication = new Map([["", { snapshot: snapshotIn(before), hold }]]);
    expect(reportOf({ ...wanted, publication }).resources).toMatchObject([
      {
        resource: "default/a",
        state: "quarantined",
        reason: "RejectedByDataPlane",
        servesLastGood: true,
        problems: [
          {
            file: "a.yaml",
            message:
              "pods of fleet * NACKed the version with it and named no resource, an earlier form of it is active: out of memory",
          },
        ],
      },
      { resource: "default/b", state: "served", reason: null, problems: [], servesLastGood: false },
      {
        resource: "default/c",
        state: "quarantined",
        reason: "RejectedByDataPlane",
        servesLastGood: false,
        problems: [
          {
            message:
              "pods of fleet * NACKed the version with it and named no resource, it is not active: out of memory",
          },
        ],
      },
    ]);
  });

  it.each([
    { serves: "last-good" as const, servesLastGood: true, meanwhile: "its last ACKed form is active" },
    { serves: "nothing" as const, servesLastGood: false, meanwhile: "it is left out" },
  ])("tells of a quarantined resource of which pods are served $serves", ({ serves, servesLastGood, meanwhile }) => {
    expect(reportOf(rejectedBy(ONE, serves)).resources).toMatchObject([
      {
        state: "quarantined",
        reason: "RejectedByDataPlane",
        servesLastGood,
        problems: [{ message: `pods of fleet * NACKed it, ${meanwhile}: default/a: no`, file: "a.yaml" }],
        warnings: [],
      },
    ]);
  });

  it("only warns of what one pod rejects and another accepts", () => {
    expect(reportOf(rejectedBy(ONE, "present")).resources).toMatchObject([
      {
        state: "served",
        reason: null,
        problems: [],
        warnings: ["2 pods NACK it while others of fleet * ACK it: default/a: no"],
      },
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
  ])("tells of ten fields at most, and how many more there are, when there are $fields", ({ fields, further }) => {
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
    const publisher = rejectedBy(
      publisherOf({
        "a.yaml": manifest({ name: "a", domain: "alpha" }),
        "b.yaml": manifest({ name: "b", domain: "alpha" }),
        "c.yaml": "",
        "d.yaml": "kind: Limit",
      }),
      "last-good",
    );
    const rejected = podOf({ sent: EVENT, rejected: { ...EVENT, message: "default/a: no" } });
    expect(toJson(RolloutSchema, rolloutMessage(reportOf(publisher, [rejected])))).toMatchObject({
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
          sent: { version: VERSION, at: "2026-01-31T12:00:00Z" },
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
    expect(filterOf(undefined)).toEqual({});
    expect(filterOf(create(RolloutFilterSchema, { fleet: "gold" }))).toEqual({ fleet: "gold" });
  });
});
