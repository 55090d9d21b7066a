// Manifests that only a real API server or only readManifests() rejects, with the reasons: a table
// of server.system.test.ts.
import { manifest, named, rule, ruleAt, spec } from "./server-case.suite.ts";
import { unknown } from "./server-messages.suite.ts";

const FIRST_LEVEL = "this CEL rule is at the first level only: the control plane rejects it";

/** Manifests that only one of the two rejects, each with the reason; a message is the API server's. */
export const DIFFERENT: readonly (readonly [
  what: string,
  reason: string,
  manifest: string,
  refusal: string | undefined,
])[] = [
  [
    "rules that are the same when joined",
    "the API server compares key and value, not the composite key: the control plane rejects them",
    spec("descriptors: [{ key: a_b }, { key: a, value: b }]"),
    undefined,
  ],
  ["a share without a star at level 2", FIRST_LEVEL, ruleAt(2, "key: k, shareThreshold: true"), undefined],
  [
    "a limit that replaces itself at level 2",
    FIRST_LEVEL,
    ruleAt(2, "key: k, rateLimit: { unit: day, requestsPerUnit: 5, name: a, replaces: [{ name: a }] }"),
    undefined,
  ],
  [
    "a burst without a bucket at level 2",
    FIRST_LEVEL,
    ruleAt(2, "key: k, rateLimit: { unit: day, requestsPerUnit: 5, burst: 3 }"),
    undefined,
  ],
  [
    "an unknown time zone",
    "the API server knows no time zones: the control plane rejects it",
    rule("key: k, rateLimit: { unit: day, requestsPerUnit: 5, timeZone: Mars/Base }"),
    undefined,
  ],
  [
    "metadata nested deeper than 20 levels",
    "the schema of the API server cannot count levels: the control plane rejects it",
    rule(`key: k, metadata: { a: ${"[".repeat(21)}${"]".repeat(21)} }`),
    undefined,
  ],
  ["a generated name", "only an API server generates names", named("generateName: x-"), undefined],
  [
    "a status with an unknown field",
    "readManifests() does not check the status, and the API server does not store it",
    `${manifest("{ domain: d }")}status: { phase: Ready }\n`,
    unknown("status.phase"),
  ],
];
