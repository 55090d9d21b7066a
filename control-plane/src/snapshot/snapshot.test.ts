// Tests of snapshot.ts, revision.ts and response-bytes.ts.
import { inOneGo } from "@weir/limits/model/in-one-go";
import { fromBinary } from "@bufbuild/protobuf";
import { namesOf } from "@weir/harness/ads/pod-end";
import { DiscoveryResponseSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { AcceptedResource } from "../translate/desired-configuration.ts";
import {
  manifest,
  type ManifestText,
  stateOf,
  stateOfManifests,
  translateResources,
} from "../translate/manifests.suite.ts";
import { type Revision, Revisions } from "./revision.ts";
import { revisionOf } from "./revisions.suite.ts";
import { tailEncoder } from "./response-bytes.ts";
import { Snapshot, snapshotSteps, type SnapshotSet } from "./snapshot.ts";
import { snapshotOf, snapshotsOf } from "./snapshots-of.suite.ts";

/** Enough resources for every kind of collision: shared names, domains and fleets. */
const MANIFESTS = [
  { name: "a", domain: "alpha" },
  { name: "b", domain: "alpha", fleets: ["gold"] },
  { name: "c", domain: "gamma", fleets: ["gold", "silver"] },
  { name: "d", domain: "delta", namespace: "team", created: '"2026-01-01T00:00:00Z"' },
  { name: "e", domain: "delta", namespace: "team", created: '"2025-01-01T00:00:00Z"' },
  { name: "f", domain: "phi", fleets: ["silver"], requestsPerUnit: 9 },
];

function build(...manifests: readonly ManifestText[]): SnapshotSet {
  return snapshotsOf(translateResources(stateOfManifests(...manifests)));
}

/** Everything that is sent, as text. */
function bytesOf({ byFleet, others }: SnapshotSet): readonly (readonly string[])[] {
  return [["*", others] as const, ...byFleet].map(([fleet, snapshot]) => [
    fleet,
    snapshot.version,
    Buffer.concat(snapshot.pieces()).toString("hex"),
  ]);
}

describe("snapshotSteps()", () => {
  it("gives the same versions and bytes for the same resources in any order (case A3)", () => {
    const { resources } = stateOfManifests(...MANIFESTS);
    const expected = bytesOf(snapshotsOf(translateResources({ resources, refusals: [] })));
    fc.assert(
      fc.property(fc.shuffledSubarray([...resources], { minLength: resources.length }), (shuffled) => {
        expect(bytesOf(snapshotsOf(translateResources({ resources: shuffled, refusals: [] })))).toEqual(expected);
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it("gives known content its known version, on every machine and after every restart", () => {
    expect(build({ name: "a", domain: "alpha" }).others.version).toBe("974030ee43ece499b7070d448d1e0586");
    expect(build().others.version).toBe("e3b0c44298fc1c149afbf4c8996fb924");
  });

  it.each([
    { when: "a limit changes", change: { requestsPerUnit: 6 } },
    { when: "the unit changes", change: { unit: "hour" } },
    { when: "the domain changes", change: { domain: "beta" } },
    { when: "the name changes", change: { name: "b" } },
  ])("gives another version when $when", ({ change }) => {
    expect(build({ name: "a", domain: "alpha", ...change }).others.version).not.toBe(
      build({ name: "a", domain: "alpha" }).others.version,
    );
  });

  it("gives the same version when only comments, layout or age change", () => {
    const text = manifest({ name: "a", domain: "alpha" });
    const versions = [
      text,
      `# comment\n${text}`,
      text.replace("  name: a", '  creationTimestamp: "2026-01-01T00:00:00Z"\n  name: a'),
    ].map((changed) => snapshotsOf(translateResources(stateOf({ "a.yaml": changed }))).others.version);
    expect(new Set(versions).size).toBe(1);
  });

  it("builds each fleet in a step of its own, so that others have their turn while hundreds are new", () => {
    const fleets = ["a", "b", "c"];
    const admitted = fleets.map((fleet) => ({ revision: revisionOf({ name: fleet }), fleets: [fleet] }));
    const steps = snapshotSteps(admitted, fleets);
    const taken = Array.from({ length: 5 }, () => steps.next().done);
    expect(taken).toEqual([false, false, false, false, true]);
  });

  it("keeps the snapshot of each fleet with the same revisions", () => {
    const [a, gold, iron] = ["a", "gold", "iron"].map((name) => revisionOf({ name })) as [Revision, Revision, Revision];
    const place = (...revisions: readonly Revision[]) => [
      { revision: a, fleets: undefined },
      ...revisions.map((revision) => ({ revision, fleets: [revision.name.slice("default/".length)] })),
    ];
    const before = inOneGo(snapshotSteps(place(gold, iron), ["gold", "iron"]));
    const after = inOneGo(
      snapshotSteps(place(gold, revisionOf({ name: "iron", content: 2 })), ["gold", "iron"], before),
    );
    expect([after.others === before.others, after.byFleet.get("gold") === before.byFleet.get("gold")]).toEqual([
      true,
      true,
    ]);
    expect(after.byFleet.get("iron")?.version).not.toBe(before.byFleet.get("iron")?.version);
  });

  it("gives after any edits what it gives for the same revisions alone", () => {
    const contents = ["a", "b", "c", "d", "e"].map((name) => [0, 1, 2].map((content) => revisionOf({ name, content })));
    const place = fc.option(fc.subarray(["gold", "iron"], { minLength: 1 }), { nil: undefined });
    const resource = fc.option(fc.record({ content: fc.nat({ max: 2 }), place }), { nil: undefined });
    const resources = fc.array(resource, { minLength: 5, maxLength: 5 });
    const named = fc.subarray(["gold", "iron", "lead"]);
    const sets = fc.array(fc.record({ resources, named }), { minLength: 2, maxLength: 6 });
    fc.assert(
      fc.property(sets, (steps) => {
        let before: SnapshotSet | undefined;
        for (const { resources, named } of steps) {
          const published = resources.flatMap((each, index) => {
            const revision = contents[index]?.[each?.content ?? 0];
            return each === undefined || revision === undefined ? [] : { revision, fleets: each.place };
          });
          const fleets = [...new Set([...published.flatMap((each) => each.fleets ?? []), ...named])];
          before = inOneGo(snapshotSteps(published, fleets, before));
          const alone = inOneGo(snapshotSteps(published, fleets));
          expect(bytesOf(before)).toEqual(bytesOf(alone));
          const sizes = ({ byFleet, others }: SnapshotSet) =>
            [others, ...byFleet.values()].map((each) => each.sizeBytes);
          expect(sizes(before)).toEqual(sizes(alone));
        }
      }),
      { seed: 1, numRuns: 1000 },
    );
  });

  it("has one snapshot for each fleet that is named and one for all others", () => {
    const { byFleet, others } = build(...MANIFESTS);
    const names = (snapshot = others): readonly string[] => snapshot.revisions.map(({ name }) => name);
    expect([names(), names(byFleet.get("gold")), names(byFleet.get("silver")), byFleet.size]).toEqual([
      ["default/a", "team/e"],
      ["default/a", "default/c", "team/e"],
      ["default/a", "default/c", "default/f", "team/e"],
      2,
    ]);
  });
});

describe("Revisions", () => {
  function accepted(text: ManifestText): AcceptedResource {
    const [resource] = translateResources(stateOfManifests(text)).accepted;
    if (resource === undefined) throw new Error("No resource is accepted");
    return resource;
  }

  it("gives a resource the same revision until it changes, and then a newer one of the same identity", () => {
    const revisions = new Revisions();
    const [before, after] = [5, 6].map((requestsPerUnit) =>
      accepted({ name: "a", domain: "alpha", requestsPerUnit }),
    ) as [AcceptedResource, AcceptedResource];
    const [first, second] = [revisions.current(before), revisions.current(after)];
    expect(revisions.current(before)).toBe(first);
    expect([first.name, first.namespace, first.domain, first.identity]).toEqual([
      "default/a",
      "default",
      "alpha",
      second.identity,
    ]);
    expect(second.sequence).toBeGreaterThan(first.sequence);
    expect(second.digest).not.toBe(first.digest);
  });

  it("gives a revision that was handed over the digest of its content, and an age before everything published", () => {
    const revisions = new Revisions();
    const resource = accepted({ name: "a", domain: "alpha" });
    const { content } = accepted({ name: "a", domain: "alpha", requestsPerUnit: 6 });
    const { content: older } = accepted({ name: "a", domain: "alpha", requestsPerUnit: 5 });
    const [newest, oldest] = revisions.lastGood({ ...resource, lastGood: [content, older] });
    const published = revisions.current({ ...resource, content: { ...content } });
    expect(newest?.digest).toBe(published.digest);
    expect(newest?.sequence).toBeLessThan(published.sequence);
    expect(oldest?.sequence).toBeLessThan(newest?.sequence ?? -Infinity);
    expect(revisions.lastGood(resource)).toEqual([]);
  });
});

describe("Snapshot.pieces()", () => {
  const TWO = snapshotOf({ name: "b", domain: "beta" }, { name: "a", domain: "alpha" });

  it("gives a response that protobuf reads: version, type, resources, nonce and replica", () => {
    const tail = tailEncoder("replica-1")(7);
    const response = fromBinary(DiscoveryResponseSchema, Buffer.concat([...TWO.pieces(), tail]));
    expect(response).toMatchObject({
      versionInfo: TWO.version,
      typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
      nonce: "7",
      controlPlane: { identifier: "replica-1" },
    });
    expect(namesOf(response)).toEqual(["default/a", "default/b"]);
  });

  it("gives some of the resources under the version of all", () => {
    const names = new Set(["default/b", "default/unknown"]);
    const response = fromBinary(DiscoveryResponseSchema, Buffer.concat(TWO.pieces(names)));
    expect([response.versionInfo, namesOf(response)]).toEqual([TWO.version, ["default/b"]]);
  });

  it("has as many bytes as it says", () => {
    expect(TWO.sizeBytes).toBe(Buffer.concat(TWO.pieces()).length);
  });
});

describe("Snapshot.withEarlier()", () => {
  const NAMES = ["a", "b", "c", "d", "e", "f"];
  const BASE = new Snapshot(NAMES.map((name) => revisionOf({ name, content: "x".repeat(10) })));

  /** The base with another revision for each of these names, or without them. */
  function replaced(names: readonly string[], content?: string): Snapshot {
    const entries = names.map((name): [string, Revision | undefined] => [
      `default/${name}`,
      content === undefined ? undefined : revisionOf({ name, content }),
    ]);
    return BASE.withEarlier(new Map(entries));
  }

  it("has the version, size and bytes of a snapshot that was built of the same revisions", () => {
    fc.assert(
      fc.property(fc.subarray(NAMES), fc.subarray(NAMES), (left, right) => {
        const derived = BASE.withEarlier(
          new Map([...replaced(left).earlierRevisions, ...replaced(right, "other").earlierRevisions]),
        );
        const built = new Snapshot(derived.revisions);
        expect([derived.version, derived.sizeBytes]).toEqual([built.version, built.sizeBytes]);
        expect(Buffer.concat(derived.pieces())).toEqual(Buffer.concat(built.pieces()));
        expect(derived.revisions.map(({ name }) => name)).toEqual(
          NAMES.filter((name) => right.includes(name) || !left.includes(name)).map((name) => `default/${name}`),
        );
      }),
      { seed: 1, numRuns: 200 },
    );
  });

  it("gives the revisions of the fleet's snapshot in pieces of its buffer, one for each run", () => {
    const [, body] = BASE.pieces();
    const pieces = replaced(["c"], "other").pieces().slice(1);
    expect(pieces.map((piece) => piece.buffer === body?.buffer)).toEqual([true, false, true]);
    expect(replaced(["a", "f"]).pieces()).toHaveLength(2);
  });

  it("names what it replaces, and gives the earlier revisions by name", () => {
    const derived = replaced(["a"], "other");
    expect([[...derived.earlierRevisions.keys()], derived.get("default/a")?.digest]).toEqual([
      ["default/a"],
      revisionOf({ name: "a", content: "other" }).digest,
    ]);
    expect([BASE.earlierRevisions.size, replaced(["a"]).get("default/a")]).toEqual([0, undefined]);
  });
});
