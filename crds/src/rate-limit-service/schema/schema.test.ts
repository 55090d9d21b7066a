import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

import { ACCEPTED_SERVICES, FULL_SPEC } from "../api-server/service-case.suite.ts";
import { fleetOf } from "../fleet.ts";
import { parseRateLimitService } from "./schema.ts";

function service(spec: unknown): unknown {
  return {
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitService",
    metadata: { name: "x", namespace: "shop" },
    spec,
  };
}

/** `field: message` of each problem. */
function problemsOf(value: unknown, unknownFields: "refuse" | "ignore" = "refuse"): readonly string[] {
  const parsed = parseRateLimitService(value, { unknownFields });
  return parsed.ok ? [] : parsed.problems.map(({ path, message }) => `${path.join(".")}: ${message}`);
}

describe("parseRateLimitService()", () => {
  it.each(ACCEPTED_SERVICES)("accepts %s", (_, spec) => {
    expect(problemsOf(service(spec))).toEqual([]);
  });

  it.each([
    { spec: {}, problem: "spec.backend: is required" },
    {
      spec: { backend: { type: "valkey" } },
      problem: 'spec.backend.type: must be one of "memory", "redis", "memcached", is "valkey"',
    },
    {
      spec: { backend: { type: "memory" }, replica: 1 },
      problem: 'spec.replica: unknown field "replica", did you mean "replicas"?',
    },
    {
      spec: { backend: { type: "memory" }, replicas: "2" },
      problem: 'spec.replicas: must be a whole number, is "2": leave out the quotes',
    },
    {
      spec: { backend: { type: "memory" }, resources: { limits: { cpu: "much" } } },
      problem: 'spec.resources.limits.cpu: must be a quantity such as 100m, 2 or 512Mi, is "much"',
    },
    {
      spec: { backend: { type: "redis", redis: { type: "single", single: { address: "redis" } } } },
      problem:
        'spec.backend.redis.single.address: must be host:port, such as redis.shop.svc:6379 or [::1]:6379, is "redis"',
    },
  ])("says $problem", ({ spec, problem }) => {
    expect(problemsOf(service(spec))).toEqual([problem]);
  });

  it("ignores fields of a newer definition in what the API server has stored", () => {
    const newer = { ...FULL_SPEC, colour: "blue" };
    expect(problemsOf(service(newer), "ignore")).toEqual([]);
    expect(problemsOf(service(newer))).toHaveLength(1);
  });

  it("accepts every example of the documentation", () => {
    const page = readFileSync(new URL("../../../../docs/rate-limit-service.md", import.meta.url), "utf8");
    const examples = [...page.matchAll(/```yaml\n([^`]*)```/g)].flatMap(([, text = ""]) =>
      parseAllDocuments(text).map((document) => document.toJS() as unknown),
    );
    expect(examples).toHaveLength(6);
    expect(examples.flatMap((example) => problemsOf(example))).toEqual([]);
  });

  it("refuses another kind by its name", () => {
    const [problem] = problemsOf({ ...(service({}) as object), kind: "RateLimitConfig" });
    expect(problem).toBe('kind: must be "RateLimitService", is "RateLimitConfig"');
  });
});

describe("fleetOf()", () => {
  const long = "n".repeat(60);
  it.each([
    { namespace: "shop", name: "edge", fleet: undefined, expected: "shop.edge" },
    { namespace: "shop", name: "edge", fleet: "gateway", expected: "gateway" },
    { namespace: undefined, name: "edge", fleet: undefined, expected: "default.edge" },
    {
      namespace: "a".repeat(31),
      name: "z".repeat(31),
      fleet: undefined,
      expected: `${"a".repeat(31)}.${"z".repeat(31)}`,
    },
    { namespace: long, name: "edge", fleet: undefined, expected: `${"n".repeat(52)}-e1e1e1e1e1` },
  ])("is $expected", ({ namespace, name, fleet, expected }) => {
    const found = fleetOf({ metadata: { name, ...(namespace === undefined ? {} : { namespace }) }, spec: { fleet } });
    expect(found.replace(/[0-9a-f]{10}$/, "e1e1e1e1e1")).toBe(expected);
    expect(found.length).toBeLessThanOrEqual(63);
  });

  it("differs for long names that begin alike", () => {
    const fleets = ["a", "b"].map((name) =>
      fleetOf({ metadata: { name, namespace: long.repeat(1) + "ab" }, spec: {} }),
    );
    expect(new Set(fleets).size).toBe(2);
  });
});
