// Manifests that a real API server rejects for what is around the spec, with its messages: a table of
// server.system.test.ts.
import { manifest } from "./server-case.suite.ts";
import type { ServerCase } from "./server-case.suite.ts";

/** Manifests whose metadata, version or kind the server rejects. */
export const REFUSED_OBJECTS: readonly ServerCase[] = [
  {
    what: "a name with capitals",
    manifest: manifest("{ domain: d }", "name: Shop"),
    refusal:
      "RateLimitConfig.ratelimit.weir.dev \"Shop\" is invalid: metadata.name: Invalid value: \"Shop\": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  },
  {
    what: "no name",
    manifest: manifest("{ domain: d }", "labels: { a: b }"),
    refusal:
      'RateLimitConfig.ratelimit.weir.dev "" is invalid: metadata.name: Required value: name or generateName is required',
  },
  {
    what: "a name that is too long",
    manifest: manifest("{ domain: d }", `name: ${"x".repeat(254)}`),
    refusal: `RateLimitConfig.ratelimit.weir.dev "${"x".repeat(254)}" is invalid: metadata.name: Invalid value: "${"x".repeat(254)}": must be no more than 253 characters`,
  },
  {
    what: "a label that is a number",
    manifest: manifest("{ domain: d }", "name: x, labels: { a: 5 }"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string',
  },
  {
    what: "an invalid label",
    manifest: manifest("{ domain: d }", 'name: x, labels: { a: "b c" }'),
    refusal:
      "metadata.labels: Invalid value: \"b c\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  },
  {
    what: "a label with an invalid name",
    manifest: manifest("{ domain: d }", "name: x, labels: { a/b/c: d }"),
    refusal: `metadata.labels: Invalid value: "a/b/c": a qualified name must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
  },
  {
    what: "an annotation with an invalid name",
    manifest: manifest("{ domain: d }", "name: x, annotations: { a b: c }"),
    refusal: `metadata.annotations: Invalid value: "a b": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
  },
  {
    what: "finalizers that are no list",
    manifest: manifest("{ domain: d }", "name: x, finalizers: example.com/f"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: json: cannot unmarshal string into Go struct field ObjectMeta.finalizers of type []string',
  },
  {
    what: "an invalid finalizer",
    manifest: manifest("{ domain: d }", "name: x, finalizers: [example.com/]"),
    refusal: `[metadata.finalizers: Invalid value: "example.com/": name part must be non-empty, metadata.finalizers: Invalid value: "example.com/": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')]`,
  },
  {
    what: "another version",
    manifest: manifest("{ domain: d }").replace("v1alpha1", "v1"),
    refusal:
      'RateLimitConfig in version "v1" cannot be handled as a RateLimitConfig: strict decoding error: unknown field "spec"',
  },
  {
    what: "another kind",
    manifest: manifest("{ domain: d }").replace("kind: RateLimitConfig", "kind: RateLimit"),
    refusal: 'RateLimit.ratelimit.weir.dev "x" is invalid: kind: Invalid value: "RateLimit": must be RateLimitConfig',
  },
  {
    what: "a creation time without seconds",
    manifest: manifest("{ domain: d }", 'name: x, creationTimestamp: "2026-01-31T12:00Z"'),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: parsing time "2026-01-31T12:00Z" as "2006-01-02T15:04:05Z07:00": cannot parse "Z" as ":"',
  },
  {
    what: "a creation time that is no time",
    manifest: manifest("{ domain: d }", "name: x, creationTimestamp: yesterday"),
    refusal:
      'RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: parsing time "yesterday" as "2006-01-02T15:04:05Z07:00": cannot parse "yesterday" as "2006"',
  },
];
