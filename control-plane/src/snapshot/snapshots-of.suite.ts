// Snapshots for tests: of manifests, and of any size. Only tests import it.
import { inOneGo } from "@weir/limits/model/in-one-go";
import { create } from "@bufbuild/protobuf";
import { API_VERSION, KIND } from "@weir/crds/rate-limit-config/schema/schema";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";

import type { DesiredConfiguration } from "../translate/desired-configuration.ts";
import { type ManifestText, stateOfManifests, translateResources } from "../translate/manifests.suite.ts";
import { Revisions } from "./revision.ts";
import { Snapshot, type SnapshotSet, snapshotSteps } from "./snapshot.ts";

/** One for all tests of a file: what is made later is newer. */
const REVISIONS = new Revisions();

/** The snapshots of everything that is desired, however large. */
export function snapshotsOf({ accepted, fleets }: DesiredConfiguration, before?: SnapshotSet): SnapshotSet {
  const admitted = accepted.map((resource) => ({ revision: REVISIONS.current(resource), fleets: resource.fleets }));
  return inOneGo(snapshotSteps(admitted, fleets, before));
}

/** The snapshot of these manifests for fleets that no resource names. */
export function snapshotOf(...manifests: readonly ManifestText[]): Snapshot {
  return snapshotsOf(translateResources(stateOfManifests(...manifests))).others;
}

/**
 * A snapshot of a little more than so many bytes in one resource, `default/large`, which may be larger
 * than a manifest can be. Other numbers give other versions.
 */
export function largeSnapshot(number: number, bytes = 1_000_000): Snapshot {
  const domain = `${number}-${"d".repeat(bytes)}`;
  const revision = REVISIONS.current({
    namespace: "default",
    name: "large",
    key: "default/large",
    identity: ` ${domain}`,
    createdMs: 0,
    domain,
    fleets: undefined,
    place: { file: "large.yaml", line: 1, column: 1 },
    isLastGood: false,
    content: {
      manifest: { apiVersion: API_VERSION, kind: KIND, metadata: { name: "large" }, spec: { domain } },
      message: create(RateLimitConfigSchema, { name: "default/large", domain }),
    },
    lastGood: [],
  });
  return new Snapshot([revision]);
}
