// Manifests that only a real API server or only readManifests() rejects, with the reasons: a table
// of server.system.test.ts.
import { manifest, rule, ruleAt } from "./server-case.suite.ts";
import type { ServerCase } from "./server-case.suite.ts";

/** Manifests that only one of the two rejects, each with the reason. */
export const DIFFERENT: readonly ServerCase[] = [
  {
    what: "rules that are the same when joined",
    manifest: manifest("{ domain: d, descriptors: [{ key: a_b }, { key: a, value: b }] }"),
    differs: "the API server compares key and value, not the composite key: the control plane rejects them",
  },
  {
    what: "a share without a star at level 2",
    manifest: ruleAt(2, "key: k, shareThreshold: true"),
    differs: "this CEL rule is at the first level only: the control plane rejects it",
  },
  {
    what: "a limit that replaces itself at level 2",
    manifest: ruleAt(2, "key: k, rateLimit: { unit: day, requestsPerUnit: 5, name: a, replaces: [{ name: a }] }"),
    differs: "this CEL rule is at the first level only: the control plane rejects it",
  },
  {
    what: "metadata nested deeper than 20 levels",
    manifest: rule(`key: k, metadata: { a: ${"[".repeat(21)}${"]".repeat(21)} }`),
    differs: "the schema of the API server cannot count levels: the control plane rejects it",
  },
  {
    what: "a generated name",
    manifest: manifest("{ domain: d }", "generateName: x-"),
    differs: "only an API server generates names",
  },
  {
    what: "a status with an unknown field",
    manifest: `${manifest("{ domain: d }")}status: { phase: Ready }\n`,
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "status.phase"',
    differs: "readManifests() does not check the status, and the API server does not store it",
  },
];
