// Tests of snapshot.ts and response-bytes.ts.
import { fromBinary } from "@bufbuild/protobuf";
import { DiscoveryResponseSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { namesOf } from "../ads/stream/fake-ads-stream.suite.ts";
import { translateResources } from "../assemble/translate-resources.ts";
import { manifest, type ManifestText, stateOf, stateOfManifests } from "../assemble/manifests.suite.ts";
import { encodeResponse } from "./response-bytes.ts";
import { buildSnapshots, encodeSubset, snapshotSteps, type SnapshotSet } from "./snapshot.ts";

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
  return buildSnapshots(translateResources(stateOfManifests(...manifests)));
}

/** Everything that is sent, as text. */
function bytesOf({ byFleet, others }: SnapshotSet): readonly (readonly string[])[] {
  const named = [...byFleet].map(([fleet, { version, body }]) => [fleet, version, body.toString("hex")]);
  return [["*", others.version, others.body.toString("hex")], ...named];
}

describe("buildSnapshots()", () => {
  it("gives the same versions and bytes for the same resources in any order (case A3)", () => {
    const { resources } = stateOfManifests(...MANIFESTS);
    const expected = bytesOf(buildSnapshots(translateResources({ resources, refusals: [] })));
    fc.assert(
      fc.property(fc.shuffledSubarray([...resources], { minLength: resources.length }), (shuffled) => {
        expect(bytesOf(buildSnapshots(translateResources({ resources: shuffled, refusals: [] })))).toEqual(expected);
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
    ].map((changed) => buildSnapshots(translateResources(stateOf({ "a.yaml": changed }))).others.version);
    expect(new Set(versions).size).toBe(1);
  });

  it("takes each resource in a step of its own, so that others have their turn while thousands are new", () => {
    let taken = 0;
    const desired = translateResources(stateOfManifests(...MANIFESTS.slice(0, 1), ...MANIFESTS.slice(2, 5)));
    const accepted = desired.accepted.map((resource) => ({
      ...resource,
      get message() {
        taken += 1;
        return resource.message;
      },
    }));
    const steps = snapshotSteps({ ...desired, accepted });
    expect(accepted.map(() => [steps.next().done, taken])).toEqual(accepted.map((_, index) => [false, index + 1]));
  });

  it("has one snapshot for each fleet that is named and one for all others", () => {
    const { byFleet, others } = build(...MANIFESTS);
    const names = (snapshot = others): readonly string[] => snapshot.resources.map(({ name }) => name);
    expect([names(), names(byFleet.get("gold")), names(byFleet.get("silver")), byFleet.size]).toEqual([
      ["default/a", "team/e"],
      ["default/a", "default/c", "team/e"],
      ["default/a", "default/c", "default/f", "team/e"],
      2,
    ]);
  });
});

describe("encodeResponse()", () => {
  it("gives a response that protobuf reads: version, type, resources, nonce and replica", () => {
    const { others } = build({ name: "b", domain: "beta" }, { name: "a", domain: "alpha" });
    const response = fromBinary(
      DiscoveryResponseSchema,
      Buffer.concat(encodeResponse(others.body, { nonce: "7", identifier: "replica-1" })),
    );
    expect(response).toMatchObject({
      versionInfo: others.version,
      typeUrl: RATE_LIMIT_CONFIG_TYPE_URL,
      nonce: "7",
      controlPlane: { identifier: "replica-1" },
    });
    expect(namesOf(response)).toEqual(["default/a", "default/b"]);
  });
});

describe("encodeSubset()", () => {
  it("gives some of the resources under the version of all", () => {
    const { others } = build({ name: "b", domain: "beta" }, { name: "a", domain: "alpha" });
    const response = fromBinary(
      DiscoveryResponseSchema,
      encodeSubset(others, (name) => name === "default/b"),
    );
    expect([response.versionInfo, namesOf(response)]).toEqual([others.version, ["default/b"]]);
  });
});
