// Manifests that a real API server and readManifests judge differently, with the reasons: a table
// of server.integration.test.ts.
import { manifest, rule, ruleAt } from "./server-case.suite.ts";
import type { ServerCase } from "./server-case.suite.ts";

/** Manifests of which server and `readManifests` think differently, each with the reason. */
export const DIFFERENT: readonly ServerCase[] = [
  {
    what: "a rule twice at one level",
    manifest: manifest("{ domain: d, descriptors: [{ key: k }, { key: k }] }"),
    differs: "the API server compares no rules with each other: the control plane refuses them",
  },
  {
    what: "rules that are the same when joined",
    manifest: manifest("{ domain: d, descriptors: [{ key: a_b }, { key: a, value: b }] }"),
    differs: "the API server compares no rules with each other: the control plane refuses them",
  },
  {
    what: "a share without a star at level 2",
    manifest: ruleAt(2, "key: k, shareThreshold: true"),
    differs: "CEL rules stand at the first level only: the control plane refuses it",
  },
  {
    what: "a limit that replaces itself at level 2",
    manifest: ruleAt(2, "key: k, rateLimit: { unit: day, requestsPerUnit: 5, name: a, replaces: [{ name: a }] }"),
    differs: "CEL rules stand at the first level only: the control plane refuses it",
  },
  {
    what: "metadata nested deeper than 20 levels",
    manifest: rule(`key: k, metadata: { a: ${"[".repeat(21)}${"]".repeat(21)} }`),
    differs: "the schema of the API server cannot count levels: the control plane refuses it",
  },
  {
    what: "a generated name",
    manifest: manifest("{ domain: d }", "generateName: x-"),
    differs: "only an API server generates names",
  },
  {
    what: "a status with a field that nobody knows",
    manifest: `${manifest("{ domain: d }")}status: { phase: Ready }\n`,
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "status.phase"',
    differs: "the status of a manifest is not looked at, and the API server does not store it either",
  },
];
