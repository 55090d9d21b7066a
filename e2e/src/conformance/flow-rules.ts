// The rule files of the flows from end to end.

/** The rules of the flows, a file per domain. */
export const FLOW_RULES = {
  "basic.yaml": `
domain: basic
descriptors:
  - key: key1
    rate_limit: {unit: second, requests_per_unit: 50}
  - key: one_per_day
    rate_limit: {unit: day, requests_per_unit: 1}
`,
  "another.yaml": `
domain: another
descriptors:
  - key: key2
    rate_limit: {unit: minute, requests_per_unit: 20}
  - key: key3
    rate_limit: {unit: hour, requests_per_unit: 10}
`,
  "values.yaml": `
domain: values
descriptors:
  - key: shared
    value: files/*
    share_threshold: true
    rate_limit: {unit: hour, requests_per_unit: 10}
  - key: separate
    value: files/*
    rate_limit: {unit: hour, requests_per_unit: 10}
  - key: foo
    value: "*"
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: baz
    value: not-so-shady
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: baz
    value: shady
    shadow_mode: true
    rate_limit: {unit: minute, requests_per_unit: 3}
  - key: unspec
    detailed_metric: true
    rate_limit: {unit: minute, requests_per_unit: 2}
`,
  "replaces.yaml": `
domain: replaces
descriptors:
  - key: banned
    rate_limit: {name: banned_limit, unit: minute, requests_per_unit: 0}
  - key: pardoned
    rate_limit: {unit: minute, requests_per_unit: 2, replaces: [{name: banned_limit}]}
  - key: one
    rate_limit: {name: one_limit, unit: hour, requests_per_unit: 1}
  - key: two
    rate_limit: {unit: hour, requests_per_unit: 2, replaces: [{name: one_limit}]}
  - key: both
    rate_limit: {unit: hour, requests_per_unit: 3, replaces: [{name: banned_limit}, {name: one_limit}]}
`,
  "quotas.yaml": `
domain: quotas
descriptors:
  - key: slow_1
    quota_mode: true
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: slow_2
    quota_mode: true
    rate_limit: {unit: minute, requests_per_unit: 2}
  - key: quick_1
    quota_mode: true
    rate_limit: {unit: second, requests_per_unit: 1}
  - key: quick_2
    quota_mode: true
    rate_limit: {unit: second, requests_per_unit: 2}
`,
  "tokens.yaml": `
domain: tokens
descriptors:
  - key: tokens
    rate_limit: {unit: minute, requests_per_unit: 2}
  - key: service_1
    quota_mode: true
    metadata: {name: service_1}
    rate_limit: {unit: minute, requests_per_unit: 1}
  - key: service_2
    quota_mode: true
    metadata: {name: service_2}
    rate_limit: {unit: minute, requests_per_unit: 2}
`,
} as const;
