// Tests of reading manifests: which resources a text holds, and line, column and field of
// everything that is wrong.
import { describe, expect, it } from "vitest";

import { manifestsOf, readManifests } from "./manifest.ts";
import { readYamlDocuments } from "@weir/limits/go-yaml/json-documents";

function problemsOf(text: string): readonly string[] {
  return readManifests(text).flatMap(({ problems }) =>
    problems.map(({ line, column, field, message }) => `${line}:${column}: ${field}: ${message}`),
  );
}

const HEAD = "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: shop}\n";

describe("readManifests() on texts", () => {
  it("reads each document, with its index and line", () => {
    const text = `# A comment\n${HEAD}spec: {domain: a}\n---\n# Nothing here\n---\n${HEAD}spec: {domain: b}\n`;
    const found = readManifests(text).map(({ index, line, resource, problems }) => [
      index,
      line,
      resource?.spec.domain,
      problems,
    ]);
    expect(found).toEqual([
      [0, 2, "a", []],
      [1, 9, "b", []],
    ]);
  });

  it.each(["", "---\n", "# nothing\n"])("finds nothing in %j", (text) => {
    expect(readManifests(text)).toEqual([]);
  });

  it("reads JSON", () => {
    const resource = {
      apiVersion: "ratelimit.weir.dev/v1alpha1",
      kind: "RateLimitConfig",
      metadata: { name: "shop" },
      spec: { domain: "a" },
    };
    expect(readManifests(JSON.stringify(resource, undefined, "\t")).map((document) => document.resource)).toEqual([
      resource,
    ]);
  });

  it("reads the items of a list", () => {
    const item =
      "- {apiVersion: ratelimit.weir.dev/v1alpha1, kind: RateLimitConfig, metadata: {name: a}, spec: {domain: DOMAIN}}\n";
    const text = `apiVersion: v1\nkind: List\nitems:\n${item.replace("DOMAIN", "a")}${item.replace("DOMAIN", "''")}- {kind: ConfigMap, apiVersion: v1}\n`;
    expect(readManifests(text).map(({ index, line, resource }) => [index, line, resource?.spec.domain])).toEqual([
      [0, 4, "a"],
      [1, 5, undefined],
      [2, 6, undefined],
    ]);
    expect(problemsOf(text)).toEqual([
      "5:104: items[1].spec.domain: must not be empty",
      '6:10: items[2].kind: must be "RateLimitConfig", is "ConfigMap"',
      '6:33: items[2].apiVersion: must be "ratelimit.weir.dev/v1alpha1", is "v1"',
    ]);
  });

  it("lets the items of a typed list leave out their type", () => {
    const text =
      "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfigList\nitems: [{metadata: {name: a}, spec: {domain: d}}]\n";
    expect(readManifests(text)[0]?.resource).toMatchObject({ kind: "RateLimitConfig", spec: { domain: "d" } });
  });
});

describe("manifestsOf() that skips other kinds", () => {
  /** The fate of each resource of the text: skipped, read or refused. */
  function fates(text: string, otherKinds?: "skip"): readonly string[] {
    const found = manifestsOf(readYamlDocuments(text), otherKinds === undefined ? {} : { otherKinds });
    return found.map(({ isSkipped, resource, problems }) =>
      isSkipped === true ? "skipped" : resource !== undefined && problems.length === 0 ? "read" : "refused",
    );
  }

  it.each([
    { text: "{apiVersion: v1, kind: ConfigMap}", fate: "skipped" },
    { text: "{apiVersion: apps/v1, kind: Deployment, items: 5}", fate: "skipped" },
    { text: "{apiVersion: ratelimit.example.org/v1, kind: RateLimitPolicy}", fate: "skipped" },
    { text: "{apiVersion: ratelimit.solo.io/v1alpha1, kind: RateLimitConfig}", fate: "skipped" },
    { text: "{apiVersion: getambassador.io/v3alpha1, kind: RateLimitConfig}", fate: "skipped" },
    { text: "{apiVersion: weir.dev/v1alpha1, kind: RateLimitConfig}", fate: "refused" },
    { text: "{apiVersion: ratelimits.wier.dev/v1alpha1, kind: RateLimitConfig}", fate: "refused" },
    { text: "{apiVersion: v1alpha1, kind: RateLimitConfig}", fate: "refused" },
    { text: "{apiVersion: ratelimit.weir.dev/v1alpha1, kind: RateLimitConf}", fate: "refused" },
    { text: "{apiVersion: ratelimit.weir.dev/v2, kind: RateLimitConf}", fate: "refused" },
    { text: "{apiVersion: v1}", fate: "refused" },
    { text: "{kind: ConfigMap}", fate: "refused" },
    { text: "{apiVersion: '', kind: ConfigMap}", fate: "refused" },
    { text: "{apiVersion: v1, kind: ''}", fate: "refused" },
    { text: "{apiVersion: v1, kind: 5}", fate: "refused" },
    { text: "{apiVersion: 1, kind: ConfigMap}", fate: "refused" },
    { text: "{apiVersion: v1, kind: List}", fate: "refused" },
    { text: "just a text", fate: "refused" },
  ])("takes $text for $fate", ({ text, fate }) => {
    expect([fates(text, "skip"), fates(text)]).toEqual([[fate], ["refused"]]);
  });

  it("classifies the items of a list one by one", () => {
    const ours =
      "{apiVersion: ratelimit.weir.dev/v1alpha1, kind: RateLimitConfig, metadata: {name: a}, spec: {domain: a}}";
    const list = `apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: Secret}\n- ${ours}\n- {kind: Secret}\n`;
    expect(fates(list, "skip")).toEqual(["skipped", "read", "refused"]);
  });
});

describe("readManifests() on problems", () => {
  it("reports a problem of a list once, not once for each item", () => {
    expect(problemsOf("kind: List\nkind: List\nitems: [{a: 1}, {b: 2}]\n")).toEqual([
      '2:1: : duplicate key "kind", first on line 1',
    ]);
  });

  it("refuses a list of more items than it reads, in one problem", () => {
    expect(problemsOf(`kind: List\nitems:\n${"- 1\n".repeat(10_000)}`)).toHaveLength(10_000);
    expect(problemsOf(`kind: List\nitems:\n${"- 1\n".repeat(10_001)}`)).toEqual([
      "10003:3: : the list holds more than 10000 items",
    ]);
  });

  it("reads a resource with items, which is not an empty list", () => {
    expect(problemsOf(`${HEAD}spec: {domain: ''}\nitems: []\n`)).toEqual([
      "4:16: spec.domain: must not be empty",
      '5:1: items: unknown field "items", known are apiVersion, kind, metadata, spec, status',
    ]);
  });

  it("does not repeat a name of any length in full", () => {
    const [problem] = readManifests(`${HEAD}spec: {domain: a}\n? ${"k".repeat(50_000)}\n: 1\n`).flatMap(
      ({ problems }) => problems,
    );
    expect(problem).toMatchObject({ line: 5, field: `${"k".repeat(200)}…${"k".repeat(100)}` });
    expect(problemsOf(`a: *${"k".repeat(50_000)}\n`)).toEqual([
      `1:4: : unknown anchor '${"k".repeat(184)}…${"k".repeat(88)}' referenced`,
    ]);
  });

  it("places a broken document at its syntax error, and reads the next", () => {
    const text = `${HEAD}spec: {domain: a\n---\n${HEAD}spec: {domain: b}\n`;
    const [broken, whole] = readManifests(text);
    expect(broken?.resource).toBeUndefined();
    expect(broken?.problems).toMatchObject([{ line: 5, field: "" }]);
    expect(whole?.resource?.spec.domain).toBe("b");
  });

  it("places what is wrong with fields, in the order of the text", () => {
    const text = `${HEAD}spec:
  domian: shop
  descriptors:
    - key: user
      value: yes
      rateLimit:
        unit: fortnight
        requestPerUnit: 5
    - value: x
      rateLimit: {unit: day}
`;
    expect(problemsOf(text)).toEqual([
      "4:1: spec.domain: is required",
      '5:3: spec.domian: unknown field "domian", did you mean "domain"?',
      "8:14: spec.descriptors[0].value: must be a string, is the boolean true: put it in quotes",
      '10:15: spec.descriptors[0].rateLimit.unit: must be one of "second", "minute", "hour", "day", "week", "month", "year", is "fortnight"',
      '11:9: spec.descriptors[0].rateLimit.requestPerUnit: unknown field "requestPerUnit", did you mean "requestsPerUnit"?',
      "12:7: spec.descriptors[1].key: is required",
      "13:7: spec.descriptors[1].rateLimit.requestsPerUnit: is required, unless unlimited is true; 0 rejects every request",
    ]);
  });

  it("locates the problems of the validator, and returns the resource nevertheless", () => {
    const text = `${HEAD}spec:
  domain: shop
  descriptors:
    - key: a
      value: b
      rateLimit: {unlimited: true, unit: day, name: one, replaces: [{name: one}]}
      shareThreshold: true
    - {key: a_b, descriptors: [{key: x}, {key: x}]}
`;
    const [document] = readManifests(text);
    expect(document?.resource?.metadata.name).toBe("shop");
    expect(problemsOf(text)).toEqual([
      "9:42: spec.descriptors[0].rateLimit.unit: should not specify rate limit unit when unlimited",
      "9:76: spec.descriptors[0].rateLimit.replaces[0].name: replaces should not contain name of same descriptor",
      "10:23: spec.descriptors[0].shareThreshold: share_threshold can only be used with wildcard values (containing '*'), but found key 'a_b'",
      "11:13: spec.descriptors[1].key: duplicate descriptor composite key 'shop.a_b', first at spec.descriptors[0] on line 7",
      "11:48: spec.descriptors[1].descriptors[1].key: duplicate descriptor composite key 'shop.a_b.x', first at spec.descriptors[1].descriptors[0] on line 11",
    ]);
  });

  it("reports the first hundred problems, and the number of further ones", () => {
    const problems = problemsOf(`${HEAD}spec:\n  domain: a\n  descriptors:\n${"    - {key: ''}\n".repeat(120)}`);
    expect(problems).toHaveLength(101);
    expect(problems.at(-1)).toBe("107:13: : 20 more problems from here on");
  });

  it("names a duplicate key instead of taking the last one", () => {
    expect(problemsOf(`${HEAD}spec: {domain: a, domain: b}\n`)).toEqual([
      '4:19: : duplicate key "domain", first on line 4',
    ]);
  });

  it.each([
    {
      what: "what the schema refuses",
      metadata: "{ name: shop, namespace: red }",
      expected: { name: "shop", namespace: "red" },
    },
    { what: "what names no namespace", metadata: "{ name: shop }", expected: { name: "shop" } },
    { what: "what has an empty namespace", metadata: '{ name: shop, namespace: "" }', expected: { name: "shop" } },
    { what: "what has a null namespace", metadata: "{ name: shop, namespace: null }", expected: { name: "shop" } },
    { what: "what has no name that can be one", metadata: "{ name: a/b }", expected: undefined },
    { what: "what has a namespace that cannot be one", metadata: "{ name: shop, namespace: [] }", expected: undefined },
    { what: "what has no metadata", metadata: "none", expected: undefined },
  ])("says $expected of $what", ({ metadata, expected }) => {
    const text = `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: ${metadata}\nspec: wrong\n`;
    const [document] = readManifests(text);
    expect([document?.resource, document?.identity]).toEqual([undefined, expected]);
  });

  it("takes an empty namespace for none", () => {
    const [document] = readManifests(
      `${HEAD.replace("name: shop", 'name: shop, namespace: ""')}spec: {domain: shop}\n`,
    );
    expect(document?.resource?.metadata.namespace).toBeUndefined();
  });

  it("places what is wrong with the name of a label at the name", () => {
    const text = `${HEAD.replace("name: shop", "name: shop, labels: {a//b: c}")}spec: {domain: shop}\n`;
    expect(readManifests(text)[0]?.problems).toMatchObject([{ line: 3, column: 33, field: 'metadata.labels["a//b"]' }]);
  });

  it("locates fields of the resource for its callers", () => {
    const [document] = readManifests(`${HEAD}spec:\n  domain: shop\n`);
    expect(document?.locate(["spec", "domain"])).toEqual({ line: 5, column: 11 });
    expect(document?.locate(["metadata", "namespace"])).toEqual({ line: 3, column: 1 });
  });
});
