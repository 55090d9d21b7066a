import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";

import { ACCEPTED_SERVICES, FULL_SPEC } from "../api-server/service-case.suite.ts";
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
