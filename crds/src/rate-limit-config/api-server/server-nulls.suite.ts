// Manifests with null: which of them a real API server creates, and which it rejects in `kubectl
// apply --server-side`. A table of server.system.test.ts.
import { limit, manifest, named, rule, spec } from "./server-case.suite.ts";
import { pathAt } from "./server-messages.suite.ts";

/** One manifest with null. */
export interface NullCase {
  readonly text: string;
  /** The field that server-side apply rejects; absent when it accepts the manifest. */
  readonly refused?: string;
  /** True if the server creates it. */
  readonly isCreated: boolean;
}

const RULE = pathAt(1);
const LIMIT = `${RULE}.rateLimit`;

/** Manifests with null. */
export const NULLS: readonly NullCase[] = [
  { text: manifest("null"), refused: "spec", isCreated: false },
  { text: manifest("{ domain: null }"), refused: "spec.domain", isCreated: false },
  { text: spec("fleets: null"), refused: "spec.fleets", isCreated: true },
  { text: spec("descriptors: null"), refused: "spec.descriptors", isCreated: true },
  { text: rule("key: null"), refused: `${RULE}.key`, isCreated: false },
  { text: rule("key: k, value: null"), isCreated: true },
  { text: rule("key: k, rateLimit: null"), refused: `${RULE}.rateLimit`, isCreated: true },
  { text: rule("key: k, descriptors: null"), refused: `${RULE}.descriptors`, isCreated: true },
  { text: rule("key: k, shadowMode: null"), refused: `${RULE}.shadowMode`, isCreated: true },
  { text: rule("key: k, metadata: null"), refused: `${RULE}.metadata`, isCreated: true },
  { text: rule("key: k, metadata: { owner: null, list: [null] }"), isCreated: true },
  {
    text: rule("key: k, descriptors: [{ key: l, value: null, quotaMode: null }]"),
    refused: `${pathAt(2)}.quotaMode`,
    isCreated: true,
  },
  { text: limit("unit: null, requestsPerUnit: 1"), refused: `${LIMIT}.unit`, isCreated: false },
  { text: limit("unit: null, unlimited: true"), refused: `${LIMIT}.unit`, isCreated: true },
  { text: limit("unlimited: true, requestsPerUnit: null"), refused: `${LIMIT}.requestsPerUnit`, isCreated: true },
  { text: limit("unit: day, requestsPerUnit: 1, unlimited: null"), refused: `${LIMIT}.unlimited`, isCreated: true },
  { text: limit("unlimited: true, name: null"), refused: `${LIMIT}.name`, isCreated: true },
  { text: limit("unlimited: true, replaces: null"), refused: `${LIMIT}.replaces`, isCreated: true },
  {
    text: limit("unlimited: true, replaces: [{ name: null }]"),
    refused: `${LIMIT}.replaces[0].name`,
    isCreated: false,
  },
  { text: named("name: x, labels: null, annotations: { a: null }"), isCreated: true },
  { text: named("name: x, creationTimestamp: null, namespace: null"), isCreated: true },
  { text: `${manifest("{ domain: d }")}status: null\n`, isCreated: true },
];
