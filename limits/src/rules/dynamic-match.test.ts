// Shadow flags, wildcards, statistics keys from request values, shared thresholds and metadata, by
// the conformance cases.
import type { DescriptorModel } from "../model/model.ts";
import { describe, expect, it } from "vitest";
import { compileRules } from "./compile.ts";
import { attachKeys, configuration, descriptor, entries, limit } from "./configuration.suite.ts";
import type { RuleMatch } from "./rule.ts";

const MINUTE = limit(10, "minute");

function match(
  domain: string,
  descriptors: readonly DescriptorModel[],
  ...pairs: readonly string[]
): RuleMatch<string> | undefined {
  const rules = compileRules([configuration(domain, descriptors)], attachKeys);
  return rules.domain(domain)?.match(entries(...pairs));
}

describe("match() shadow mode", () => {
  it("case 47: match() is shadow only for the nested rule that says so", () => {
    const rules = [
      descriptor({
        key: "key1",
        value: "value1",
        descriptors: [
          descriptor({ key: "subkey1", rateLimit: MINUTE }),
          descriptor({ key: "subkey1", value: "subvalue1", rateLimit: MINUTE, shadowMode: true }),
        ],
      }),
    ];
    expect(match("d", rules, "key1=value1", "subkey1=something")?.rule.shadowMode).toBe(false);
    expect(match("d", rules, "key1=value1", "subkey1=subvalue1")?.rule.shadowMode).toBe(true);
  });

  it("case 48: match() is shadow for other values only when the key-only rule says so", () => {
    const rules = [
      descriptor({ key: "key2", rateLimit: MINUTE, shadowMode: true }),
      descriptor({ key: "key2", value: "value2", rateLimit: MINUTE }),
    ];
    expect(match("d", rules, "key2=something")?.rule.shadowMode).toBe(true);
    expect(match("d", rules, "key2=value2")?.rule.shadowMode).toBe(false);
  });
});

describe("match() wildcards", () => {
  const rules = [
    descriptor({ key: "wild", value: "foo*", rateLimit: MINUTE }),
    descriptor({ key: "noWild", value: "foo", rateLimit: MINUTE }),
    descriptor({
      key: "nestedWild",
      value: "val1",
      descriptors: [descriptor({ key: "wild", value: "goo*", rateLimit: MINUTE })],
    }),
    descriptor({ key: "midWild", value: "bar*b", rateLimit: MINUTE }),
    descriptor({ key: "multiWild", value: "foo*bar*baz", rateLimit: MINUTE }),
    descriptor({ key: "openWild", value: "foo*bar*", rateLimit: MINUTE }),
    descriptor({ key: "any", value: "*", rateLimit: MINUTE }),
    descriptor({ key: "edge", value: "ab*ba", rateLimit: MINUTE }),
    descriptor({ key: "overlap", value: "a*bc*cd", rateLimit: MINUTE }),
    descriptor({ key: "pre*", rateLimit: MINUTE }),
    descriptor({ key: "*tail", rateLimit: MINUTE }),
  ];
  it.each([
    { case: 49, pairs: ["wild=foo1"], key: "test-domain.wild_foo*" },
    { case: 49, pairs: ["wild=foo2"], key: "test-domain.wild_foo*" },
    { case: 49, pairs: ["wild=foo"], key: "test-domain.wild_foo*" },
    { case: 49, pairs: ["wild=bar"], key: undefined },
    { case: 50, pairs: ["noWild=foo1"], key: undefined },
    { case: 51, pairs: ["nestedWild=val1", "wild=goo2"], key: "test-domain.nestedWild_val1.wild_goo*" },
    { case: 52, pairs: ["midWild=barab"], key: "test-domain.midWild_bar*b" },
    { case: 52, pairs: ["midWild=bar123b"], key: "test-domain.midWild_bar*b" },
    { case: 52, pairs: ["midWild=barb"], key: "test-domain.midWild_bar*b" },
    { case: 52, pairs: ["midWild=bar"], key: undefined },
    { case: 52, pairs: ["midWild=bara"], key: undefined },
    { case: 52, pairs: ["midWild=xbarb"], key: undefined },
    { case: 53, pairs: ["multiWild=foo123bar456baz"], key: "test-domain.multiWild_foo*bar*baz" },
    { case: 53, pairs: ["multiWild=foobarbaz"], key: "test-domain.multiWild_foo*bar*baz" },
    { case: 53, pairs: ["multiWild=foo123baz"], key: undefined },
    { case: 53, pairs: ["multiWild=bar456baz"], key: undefined },
    { case: 53, pairs: ["multiWild=foobaz"], key: undefined },
    { case: 54, pairs: ["openWild=foo123bar456"], key: "test-domain.openWild_foo*bar*" },
    { case: 54, pairs: ["openWild=fooXbarY"], key: "test-domain.openWild_foo*bar*" },
    { case: 54, pairs: ["any="], key: "test-domain.any_*" },
    { case: 52, pairs: ["edge=abba"], key: "test-domain.edge_ab*ba" },
    { case: 52, pairs: ["edge=aba"], key: undefined }, // First and last piece must not overlap.
    { case: 53, pairs: ["overlap=abccd"], key: "test-domain.overlap_a*bc*cd" },
    { case: 53, pairs: ["overlap=abcd"], key: undefined }, // Nor must a middle piece and the last.
    { case: 54, pairs: ["prefix=x"], key: "test-domain.pre*" },
    { case: 54, pairs: ["*tail=x"], key: "test-domain.*tail" },
    { case: 54, pairs: ["wild_foo=x"], key: "test-domain.wild_foo*" },
    { case: 54, pairs: ["wil=d_foo"], key: undefined },
  ])("case $case: match() finds $key when the descriptor is $pairs", ({ pairs, key }) => {
    expect(match("test-domain", rules, ...pairs)?.statisticsKey).toBe(key);
  });

  it("case 55: match() prefers the exact value and shares one key among the others when the wildcard shares its threshold", () => {
    const files = [
      descriptor({ key: "file", value: "test1", rateLimit: limit(50, "minute") }),
      descriptor({ key: "file", value: "test*", rateLimit: limit(100, "minute"), shareThreshold: true }),
    ];
    expect(match("d", files, "file=test1")).toMatchObject({
      statisticsKey: "d.file_test1",
      rule: { limit: { requestsPerUnit: 50 } },
    });
    expect(match("d", files, "file=test1")?.sharedValues).toBeUndefined();
    for (const value of ["test2", "test23", "test123"]) {
      expect(match("d", files, `file=${value}`)).toMatchObject({
        statisticsKey: "d.file_test*",
        sharedValues: ["test*"],
        rule: { limit: { requestsPerUnit: 100 } },
      });
    }
  });

  it("case 56: match() takes the first wildcard of the file when two match", () => {
    const both = [
      descriptor({ key: "k", value: "a*", rateLimit: limit(1, "minute") }),
      descriptor({ key: "k", value: "ab*", rateLimit: limit(2, "minute") }),
    ];
    expect(match("d", both, "k=abc")?.statisticsKey).toBe("d.k_a*");
    expect(match("d", both.toReversed(), "k=abc")?.statisticsKey).toBe("d.k_ab*");
  });
});

/** Nested rules from the outermost to the limited one. */
function chain(...levels: readonly Partial<DescriptorModel>[]): DescriptorModel {
  const [first, ...rest] = levels;
  const isLeaf = rest.length === 0;
  return descriptor({ key: "", ...first, ...(isLeaf ? { rateLimit: MINUTE } : { descriptors: [chain(...rest)] }) });
}

describe("match() statistics keys", () => {
  const plainNested = descriptor({
    key: "key-1",
    rateLimit: MINUTE,
    descriptors: [descriptor({ key: "key-2", rateLimit: MINUTE })],
  });
  const detailedNested = descriptor({
    key: "key-1",
    rateLimit: MINUTE,
    detailedMetric: true,
    descriptors: [descriptor({ key: "key-2", rateLimit: MINUTE, detailedMetric: true })],
  });
  const route = { key: "route", valueToMetric: true };
  const method = { key: "http_method", valueToMetric: true };
  it.each([
    { case: 57, domain: "nested", rules: [detailedNested], pairs: ["key-1=value-1"], key: "nested.key-1_value-1" },
    { case: 57, domain: "nested", rules: [plainNested], pairs: ["key-1=value-1"], key: "nested.key-1" },
    {
      case: 58,
      domain: "nested",
      rules: [detailedNested],
      pairs: ["key-1=value-1", "key-2=value-2"],
      key: "nested.key-1_value-1.key-2_value-2",
    },
    {
      case: 58,
      domain: "nested",
      rules: [plainNested],
      pairs: ["key-1=value-1", "key-2=value-2"],
      key: "nested.key-1.key-2",
    },
    {
      case: 59,
      domain: "nested",
      rules: [chain({ key: "key_2" }, { key: "key_3", value: "requested-key3-value", detailedMetric: true })],
      pairs: ["key_2=key-2-value", "key_3=requested-key3-value"],
      key: "nested.key_2_key-2-value.key_3_requested-key3-value",
    },
    {
      case: 60,
      rules: [chain(route, method, { key: "subject_id" })],
      pairs: ["route=draw", "http_method=GET", "subject_id=123"],
      key: "domain.route_draw.http_method_GET.subject_id",
    },
    {
      case: 61,
      domain: "d",
      rules: [chain({ key: "k1", valueToMetric: true }, { key: "k2" })],
      pairs: ["k1=A", "k2=foo"],
      key: "d.k1_A.k2",
    },
    {
      case: 61,
      domain: "d",
      rules: [chain({ key: "k1" }, { key: "k2", valueToMetric: true }, { key: "k3" })],
      pairs: ["k1=X", "k2=Y", "k3=Z"],
      key: "d.k1.k2_Y.k3",
    },
    { case: 61, domain: "d", rules: [chain({ key: "k1" }, { key: "k2" })], pairs: ["k1=X", "k2=Y"], key: "d.k1.k2" },
    {
      case: 62,
      rules: [chain(route, method, { key: "subject_id", detailedMetric: true })],
      pairs: ["route=draw", "http_method=GET", "subject_id=123"],
      key: "domain.route_draw.http_method_GET.subject_id_123",
    },
    {
      case: 64,
      rules: [
        chain(
          { key: "user", valueToMetric: true },
          { key: "action", value: "read*", valueToMetric: true },
          { key: "resource" },
        ),
      ],
      pairs: ["user=alice", "action=readfile", "resource=x"],
      key: "domain.user_alice.action_readfile.resource",
    },
    {
      case: 65,
      rules: [chain(route, method, { key: "subject_id" })],
      pairs: ["route=", "http_method=GET", "subject_id=123"],
      key: "domain.route.http_method_GET.subject_id",
    },
    {
      case: 65,
      rules: [chain(route, method, { key: "subject_id" })],
      pairs: ["route=draw", "http_method=", "subject_id=123"],
      key: "domain.route_draw.http_method.subject_id",
    },
    {
      case: 67,
      domain: "test-domain",
      rules: [chain({ key: "wild", value: "foo*" }, { key: "other", valueToMetric: true }, { key: "limit" })],
      pairs: ["wild=foo1", "other=bar", "limit=X"],
      key: "test-domain.wild_foo*.other_bar.limit",
    },
    {
      case: 68,
      domain: "test-domain",
      rules: [chain({ key: "wild", value: "foo*", valueToMetric: true })],
      pairs: ["wild=foo1"],
      key: "test-domain.wild_foo1",
    },
    {
      case: 68,
      domain: "test-domain",
      rules: [chain({ key: "wild", value: "foo*bar*", valueToMetric: true })],
      pairs: ["wild=foo123bar456"],
      key: "test-domain.wild_foo123bar456",
    },
    {
      case: 68,
      domain: "test-domain",
      rules: [chain({ key: "wild", value: "*", valueToMetric: true })],
      pairs: ["wild="],
      key: "test-domain.wild",
    },
    { case: 66, domain: "d", rules: [chain({ key: "k", detailedMetric: true })], pairs: ["k="], key: "d.k_" },
  ])(
    "case $case: match() counts under $key when the descriptor is $pairs",
    ({ domain = "domain", rules, pairs, key }) => {
      const found = match(domain, rules, ...pairs);
      expect(found?.statisticsKey).toBe(key);
      expect(found?.attachment).toBe(key);
    },
  );

  it("case 63: match() uses the value of the level with value_to_metric and the configured one of explicit values", () => {
    const subject = (requests: number) => [descriptor({ key: "subject_id", rateLimit: limit(requests, "minute") })];
    const rules = [
      descriptor({
        ...route,
        descriptors: [
          descriptor({ key: "http_method", value: "GET", descriptors: subject(60) }),
          descriptor({ key: "http_method", value: "POST", descriptors: subject(30) }),
        ],
      }),
    ];
    expect(match("domain", rules, "route=api", "http_method=GET", "subject_id=1")).toMatchObject({
      statisticsKey: "domain.route_api.http_method_GET.subject_id",
      rule: { limit: { requestsPerUnit: 60 } },
    });
    expect(match("domain", rules, "route=api", "http_method=POST", "subject_id=1")?.rule.limit.requestsPerUnit).toBe(
      30,
    );
  });
});

describe("match() share_threshold", () => {
  const shared = (key: string, value: string) => ({ key, value, shareThreshold: true });
  it.each([
    {
      case: 69,
      rules: [chain(shared("files", "files/*"))],
      pairs: ["files=files/a.pdf"],
      key: "d.files_files/*",
      values: ["files/*"],
    },
    {
      case: 69,
      rules: [chain(shared("files", "files/*"))],
      pairs: ["files=files/b.csv"],
      key: "d.files_files/*",
      values: ["files/*"],
    },
    {
      case: 70,
      rules: [chain({ key: "nested", value: "parent" }, shared("files", "nested/*"))],
      pairs: ["nested=parent", "files=nested/x"],
      key: "d.nested_parent.files_nested/*",
      values: ["", "nested/*"],
    },
    {
      case: 71,
      rules: [chain(shared("files", "top/*"), shared("files", "nested/*"))],
      pairs: ["files=top/x", "files=nested/y"],
      key: "d.files_top/*.files_nested/*",
      values: ["top/*", "nested/*"],
    },
    {
      case: 72,
      rules: [chain(shared("path", "path/*"), { key: "file", value: "file/*" }, { key: "type" })],
      pairs: ["path=path/a", "file=file/b", "type=c"],
      key: "d.path_path/*.file_file/*.type",
      values: ["path/*", "", ""],
    },
    {
      case: 73,
      rules: [chain(shared("user", "user/*"), shared("resource", "res/*"), { key: "action" })],
      pairs: ["user=user/a", "resource=res/b", "action=c"],
      key: "d.user_user/*.resource_res/*.action",
      values: ["user/*", "res/*", ""],
    },
    {
      case: 74,
      rules: [chain({ ...shared("route", "api/*"), valueToMetric: true }, { key: "method" })],
      pairs: ["route=api/x", "method=GET"],
      key: "d.route_api/*.method",
      values: ["api/*", ""],
    },
    {
      case: 75,
      rules: [chain(shared("service", "svc/*"), { key: "endpoint", detailedMetric: true })],
      pairs: ["service=svc/user", "endpoint=get"],
      key: "d.service_svc/*.endpoint_get",
      values: ["svc/*", ""],
    },
    {
      case: 76,
      rules: [chain(shared("midpath", "/api*v1"))],
      pairs: ["midpath=/api/v1"],
      key: "d.midpath_/api*v1",
      values: ["/api*v1"],
    },
    {
      case: 76,
      rules: [chain(shared("midpath", "/api*v1"))],
      pairs: ["midpath=/api-beta-v1"],
      key: "d.midpath_/api*v1",
      values: ["/api*v1"],
    },
    {
      case: 76,
      rules: [chain(shared("midpath", "/api*v1"))],
      pairs: ["midpath=/apiXYZv1"],
      key: "d.midpath_/api*v1",
      values: ["/api*v1"],
    },
    {
      case: 76,
      rules: [chain(shared("midpath", "/api*v1"))],
      pairs: ["midpath=/api/v2"],
      key: undefined,
      values: undefined,
    },
    {
      case: 77,
      rules: [chain(shared("multiroute", "svc*ep*rpc"))],
      pairs: ["multiroute=svcAepBrpc"],
      key: "d.multiroute_svc*ep*rpc",
      values: ["svc*ep*rpc"],
    },
    {
      case: 77,
      rules: [chain(shared("multiroute", "svc*ep*rpc"))],
      pairs: ["multiroute=svceprpc"],
      key: "d.multiroute_svc*ep*rpc",
      values: ["svc*ep*rpc"],
    },
    {
      case: 77,
      rules: [chain(shared("multiroute", "svc*ep*rpc"))],
      pairs: ["multiroute=svcABCrpc"],
      key: undefined,
      values: undefined,
    },
    {
      case: 78,
      rules: [chain(shared("tenant", "t*prod"), shared("resource", "res*v2"))],
      pairs: ["tenant=t1prod", "resource=resAv2"],
      key: "d.tenant_t*prod.resource_res*v2",
      values: ["t*prod", "res*v2"],
    },
    {
      case: 78,
      rules: [chain(shared("tenant", "t*prod"), shared("resource", "res*v2"))],
      pairs: ["tenant=t99prod", "resource=resBBBv2"],
      key: "d.tenant_t*prod.resource_res*v2",
      values: ["t*prod", "res*v2"],
    },
    {
      case: 75,
      rules: [chain(shared("service", "svc/*"), { key: "endpoint", detailedMetric: true })],
      pairs: ["service=svc/u", "endpoint="],
      key: "d.service_svc/*.endpoint",
      values: ["svc/*", ""],
    },
    {
      case: 69,
      rules: [chain(shared("files", "files/*"))],
      pairs: ["files=files/*"],
      key: "d.files_files/*",
      values: undefined,
    },
  ])("case $case: match() shares $values under $key when the descriptor is $pairs", ({ rules, pairs, key, values }) => {
    const found = match("d", rules, ...pairs);
    expect(found?.statisticsKey).toBe(key);
    expect(found?.sharedValues).toEqual(values);
  });
});

describe("match() metadata", () => {
  const metadata = { name: "service_1", nested: { a: [1, "two"] } };

  it("case 79: match() carries the metadata of the rule, nested structs included", () => {
    expect(match("d", [descriptor({ key: "k", rateLimit: MINUTE, metadata })], "k=v")?.metadata).toEqual({
      name: "service_1",
      nested: { a: [1, "two"] },
    });
  });

  it("match() carries no metadata when the statistics key was recomputed, as in envoyproxy/ratelimit", () => {
    const detailed = descriptor({ key: "k", rateLimit: MINUTE, metadata, detailedMetric: true });
    expect(match("d", [detailed], "k=v")?.metadata).toBeUndefined();
    const valued = descriptor({ key: "k", rateLimit: MINUTE, metadata, valueToMetric: true });
    expect(match("d", [valued], "k=v")?.metadata).toBeUndefined();
  });

  it("match() carries metadata when value_to_metric changed nothing, or a detailed rule has children", () => {
    const valued = descriptor({ key: "k", rateLimit: MINUTE, metadata, valueToMetric: true });
    expect(match("d", [valued], "k=")?.metadata).toEqual(metadata);
    const detailed = descriptor({
      key: "k",
      rateLimit: MINUTE,
      metadata,
      detailedMetric: true,
      descriptors: [descriptor({ key: "c", rateLimit: MINUTE })],
    });
    expect(match("d", [detailed], "k=v")?.metadata).toEqual(metadata);
  });
});
