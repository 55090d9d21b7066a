// Manifests whose spec a real API server rejects, with its messages: a table of server.system.test.ts.
import { facts, fleets, manifest, rule, ruleAt, rules } from "./server-case.suite.ts";
import type { ServerCase } from "./server-case.suite.ts";

/** Manifests whose spec the server rejects. */
export const REFUSED: readonly ServerCase[] = [
  {
    what: "no spec",
    manifest: "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: { name: x }\n",
    refusal: "spec: Required value",
  },
  { what: "a null spec", manifest: manifest("null"), refusal: "spec: Required value" },
  {
    what: "a spec that is a list",
    manifest: manifest("[]"),
    refusal: 'spec: Invalid value: "array": spec in body must be of type object: "array"',
  },
  { what: "no domain", manifest: manifest("{ descriptors: [] }"), refusal: "spec.domain: Required value" },
  {
    what: "an empty domain",
    manifest: manifest('{ domain: "" }'),
    refusal: 'spec.domain: Invalid value: "": spec.domain in body should be at least 1 chars long',
  },
  { what: "a null domain", manifest: manifest("{ domain: null }"), refusal: "spec.domain: Required value" },
  {
    what: "a domain that is a number",
    manifest: manifest("{ domain: 5 }"),
    refusal: 'spec.domain: Invalid value: "integer": spec.domain in body must be of type string: "integer"',
  },
  {
    what: "a domain that is too long",
    manifest: manifest(`{ domain: ${"d".repeat(257)} }`),
    refusal: "spec.domain: Too long: may not be more than 256 bytes",
  },
  {
    what: "an unknown field",
    manifest: manifest("{ domain: d, rules: [] }"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "spec.rules"',
  },
  {
    what: "fields as rule files write them",
    manifest: rule("key: k, rate_limit: { unit: day, requests_per_unit: 1 }"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "spec.descriptors[0].rate_limit"',
  },
  {
    what: "a field twice",
    manifest: manifest("{ domain: d, domain: e }"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: yaml: unmarshal errors:\n  line 4: key "domain" already set in map',
  },
  {
    what: "an empty list of fleets",
    manifest: manifest("{ domain: d, fleets: [] }"),
    refusal: "spec.fleets: Invalid value: 0: spec.fleets in body should have at least 1 items",
  },
  {
    what: "a fleet twice",
    manifest: manifest("{ domain: d, fleets: [a, b, a] }"),
    refusal: 'spec.fleets[2]: Duplicate value: "a"',
  },
  {
    what: "an empty fleet",
    manifest: manifest('{ domain: d, fleets: [""] }'),
    refusal: 'spec.fleets[0]: Invalid value: "": spec.fleets[0] in body should be at least 1 chars long',
  },
  {
    what: "a fleet with a slash",
    manifest: manifest('{ domain: d, fleets: ["a/b"] }'),
    refusal:
      "spec.fleets[0]: Invalid value: \"a/b\": spec.fleets[0] in body should match '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$'",
  },
  {
    what: "a fleet that is a star",
    manifest: manifest('{ domain: d, fleets: ["*"] }'),
    refusal:
      "spec.fleets[0]: Invalid value: \"*\": spec.fleets[0] in body should match '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$'",
  },
  {
    what: "a fleet that ends with a dash",
    manifest: manifest('{ domain: d, fleets: ["a-"] }'),
    refusal:
      "spec.fleets[0]: Invalid value: \"a-\": spec.fleets[0] in body should match '^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$'",
  },
  {
    what: "a fleet that is too long",
    manifest: manifest(`{ domain: d, fleets: [${"f".repeat(64)}] }`),
    refusal: "spec.fleets[0]: Too long: may not be more than 63 bytes",
  },
  {
    what: "too many fleets",
    manifest: manifest(`{ domain: d, fleets: [${fleets(65)}] }`),
    refusal: "spec.fleets: Too many: 65: must have at most 64 items",
  },
  {
    what: "fleets as a text",
    manifest: manifest("{ domain: d, fleets: edge }"),
    refusal: 'spec.fleets: Invalid value: "string": spec.fleets in body must be of type array: "string"',
  },
  {
    what: "a null fleet",
    manifest: manifest("{ domain: d, fleets: [null] }"),
    refusal: 'spec.fleets[0]: Invalid value: "null": spec.fleets[0] in body must be of type string: "null"',
  },
  {
    what: "rules as a mapping",
    manifest: manifest("{ domain: d, descriptors: { key: k } }"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "spec.descriptors.key"',
  },
  {
    what: "a rule that is a text",
    manifest: manifest("{ domain: d, descriptors: [k] }"),
    refusal:
      'spec.descriptors[0]: Invalid value: "k": must be an object for an array of list-type map, spec.descriptors[0]: Invalid value: "string": spec.descriptors[0] in body must be of type object: "string"',
  },
  {
    what: "a null rule",
    manifest: manifest("{ domain: d, descriptors: [null] }"),
    refusal: 'spec.descriptors[0]: Invalid value: "null": spec.descriptors[0] in body must be of type object: "null"',
  },
  { what: "no key", manifest: rule("value: v"), refusal: "spec.descriptors[0].key: Required value" },
  {
    what: "an empty key",
    manifest: rule('key: ""'),
    refusal:
      'spec.descriptors[0].key: Invalid value: "": spec.descriptors[0].key in body should be at least 1 chars long',
  },
  { what: "a null key", manifest: rule("key: null"), refusal: "spec.descriptors[0].key: Required value" },
  {
    what: "a key that is a number",
    manifest: rule("key: 5"),
    refusal:
      'spec.descriptors[0].key: Invalid value: "integer": spec.descriptors[0].key in body must be of type string: "integer"',
  },
  {
    what: "a key that is too long",
    manifest: rule(`key: ${"k".repeat(257)}`),
    refusal: "spec.descriptors[0].key: Too long: may not be more than 256 bytes",
  },
  {
    what: "a value that is a number",
    manifest: rule("key: k, value: 404"),
    refusal:
      'spec.descriptors[0].value: Invalid value: "integer": spec.descriptors[0].value in body must be of type string: "integer"',
  },
  {
    what: "a value that YAML reads as a boolean",
    manifest: rule("key: k, value: yes"),
    refusal:
      'spec.descriptors[0].value: Invalid value: "boolean": spec.descriptors[0].value in body must be of type string: "boolean"',
  },
  {
    what: "a value that is too long",
    manifest: rule(`key: k, value: ${"v".repeat(1025)}`),
    refusal: "spec.descriptors[0].value: Too long: may not be more than 1024 bytes",
  },
  {
    what: "too many rules at level 1",
    manifest: manifest(`{ domain: d, descriptors: [${rules(1025)}] }`),
    refusal: "spec.descriptors: Too many: 1025: must have at most 1024 items",
  },
  {
    what: "too many rules at level 2",
    manifest: rule(`key: k, descriptors: [${rules(65)}]`),
    refusal: 'spec.descriptors[0].descriptors: Invalid value: "object": must have at most 64 items',
  },
  {
    what: "too many rules at level 3",
    manifest: ruleAt(2, `key: k, descriptors: [${rules(65)}]`),
    refusal: "spec.descriptors[0].descriptors[0].descriptors: Too many: 65: must have at most 64 items",
  },
  {
    what: "a rule twice",
    manifest: manifest(
      "{ domain: d, descriptors: [{ key: a, value: v }, { key: b }, { key: a, value: v, shadowMode: true }] }",
    ),
    refusal: 'spec.descriptors[2]: Duplicate value: map[string]interface {}{"key":"a", "value":"v"}',
  },
  {
    what: "a rule without a value twice, once with the empty value",
    manifest: ruleAt(5, 'key: k, descriptors: [{ key: a }, { key: a, value: "" }]'),
    refusal:
      'spec.descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[1]: Duplicate value: map[string]interface {}{"key":"a", "value":""}',
  },
  {
    what: "a NUL character in the domain",
    manifest: manifest('{ domain: "a\\0b" }'),
    refusal: "spec.domain: Invalid value: \"a\\x00b\": spec.domain in body should match '^[^\\x00-\\x1f\\x7f-\\x9f]*$'",
  },
  {
    what: "a line break in the domain",
    manifest: manifest('{ domain: "a\\n" }'),
    refusal: "spec.domain: Invalid value: \"a\\n\": spec.domain in body should match '^[^\\x00-\\x1f\\x7f-\\x9f]*$'",
  },
  {
    what: "rules at level 7",
    manifest: ruleAt(7, "key: k"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "spec.descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors"',
  },
  {
    what: "an empty list of rules at level 7",
    manifest: ruleAt(6, "key: k, descriptors: []"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "spec.descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors"',
  },
  {
    what: "a flag that is a text",
    manifest: rule('key: k, shadowMode: "true"'),
    refusal:
      'spec.descriptors[0].shadowMode: Invalid value: "string": spec.descriptors[0].shadowMode in body must be of type boolean: "string"',
  },
  {
    what: "a flag that is a number",
    manifest: rule("key: k, detailedMetric: 1"),
    refusal:
      'spec.descriptors[0].detailedMetric: Invalid value: "integer": spec.descriptors[0].detailedMetric in body must be of type boolean: "integer"',
  },
  {
    what: "metadata that is a text",
    manifest: rule("key: k, metadata: checkout"),
    refusal:
      'spec.descriptors[0].metadata: Invalid value: "string": spec.descriptors[0].metadata in body must be of type object: "string"',
  },
  {
    what: "metadata that is a list",
    manifest: rule("key: k, metadata: [1]"),
    refusal:
      'spec.descriptors[0].metadata: Invalid value: "array": spec.descriptors[0].metadata in body must be of type object: "array"',
  },
  {
    what: "too much metadata",
    manifest: rule(`key: k, metadata: { ${facts(65)} }`),
    refusal: "spec.descriptors[0].metadata: Too many: 65: must have at most 64 items",
  },
];
