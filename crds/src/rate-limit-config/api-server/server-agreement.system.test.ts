// Hundreds of random manifests, most with a mistake: a real API server and readManifests() reject
// the same ones.

import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { readManifests } from "../manifest/manifest.ts";
import { randomManifest } from "./random-manifest.suite.ts";
import { applyRefusalBy, refusalBy } from "./server-dry-run.suite.ts";

const MANIFESTS = { numRuns: 1200, seed: 20_260_131 };

/** Requests under way at a time. */
const PARALLEL = 8;

/** The error for any namespace but that of the request, before the server checks anything else. */
const ELSEWHERE = "the namespace of the provided object does not match the namespace sent on the request";

/**
 * Problems that only the control plane finds: the API server counts no levels, and has some CEL
 * rules at the first level only.
 */
const BEYOND_THE_SERVER: readonly RegExp[] = [
  /^spec\.descriptors.*\.metadata.*: must be a JSON value that nests at most /,
  /^spec\.descriptors\[\d+\]\.descriptors.*\.shareThreshold: share_threshold can only be used with wildcard values/,
  /^spec\.descriptors.*\.timeZone: unknown time zone /,
  /^spec\.descriptors\[\d+\]\.descriptors.*\.rateLimits?(?:\[\d+\])?\.(?:burst|timeZone|unitMultiplier|monthDay): (?:a|in a|invalid unit multiplier) /,
  /^spec\.descriptors\[\d+\]\.descriptors.*\.rateLimit\.\w+: must be absent from an unlimited rule/,
  /^spec\.descriptors\[\d+\]\.descriptors.*\.rateLimits.*: (?:a rule has one limit or a list|must be \w+ as in the list's first limit)/,
  /^spec\.descriptors\[\d+\]\.descriptors.*\.rateLimit\.replaces\[\d+\]\.name: replaces should not contain name of same descriptor/,
];

let cluster: KubernetesCluster;
beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitconfigs");
});
afterAll(async () => {
  await cluster.stop();
});

/**
 * The problems that readManifests() finds and a server can, too; warnings are about nulls, which only
 * server-side apply refuses.
 */
function problemsOf(text: string): readonly string[] {
  return readManifests(text)
    .flatMap(({ problems, warnings = [] }) =>
      [...problems, ...warnings].map(({ field, message }) => `${field}: ${message}`),
    )
    .filter((problem) => !BEYOND_THE_SERVER.some((pattern) => pattern.test(problem)));
}

/** The error of the server when a manifest is created, or else when it is applied. */
async function refusalOf(text: string): Promise<string | undefined> {
  const [document] = readManifests(text);
  const refusal = await refusalBy(cluster.api, text);
  return refusal ?? (await applyRefusalBy(cluster.api, document?.identity?.name ?? "x", text));
}

describe("the API server and readManifests()", () => {
  it(`reject the same of ${MANIFESTS.numRuns} random manifests`, async () => {
    const texts = [...new Set(fc.sample(randomManifest, MANIFESTS))];
    const counts = { accepted: 0, refused: 0 };
    const disagreements: string[] = [];
    const next = texts.values();
    const compare = async (): Promise<void> => {
      for (const text of next) {
        const refusal = await refusalOf(text);
        if (refusal === ELSEWHERE) continue;
        const problems = problemsOf(text);
        counts[refusal === undefined ? "accepted" : "refused"] += 1;
        if ((refusal === undefined) !== (problems.length === 0)) {
          disagreements.push(
            `${text}\n  server: ${refusal ?? "accepts"}\n  readManifests(): ${problems.join("; ") || "accepts"}`,
          );
        }
      }
    };
    await Promise.all(Array.from({ length: PARALLEL }, compare));
    expect(disagreements).toEqual([]);
    expect(counts.accepted).toBeGreaterThan(300);
    expect(counts.refused).toBeGreaterThan(400);
  });
});
