// The rules between fields: what the API server refuses is found without it, in the same words.
import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import { fieldPath } from "@weir/limits/model/field-path";

import { ACCEPTED_SERVICES, REFUSED_SERVICES } from "../api-server/service-case.suite.ts";
import { serviceCrdYaml } from "../crd/crd.ts";
import { parseRateLimitService, serviceRuleProblems } from "./schema.ts";

/** Rules that no manifest alone can break, or that another check has better words for. */
const ELSEWHERE = [
  "fleet cannot be changed; delete and re-create the resource",
  "the operator sets this variable from another field of spec; settings without a field are allowed",
];

/** `field: message` of each problem. */
function problemsOf(spec: unknown, name = "x"): readonly string[] {
  const parsed = parseRateLimitService({
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitService",
    metadata: { name, namespace: "shop" },
    spec,
  });
  const problems = parsed.ok ? serviceRuleProblems(parsed.resource) : parsed.problems;
  return problems.map(({ path, message }) => `${fieldPath(path)}: ${message}`);
}

/** The messages of every rule in the definition. */
function messagesIn(schema: unknown): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, value]) =>
    key === "x-kubernetes-validations"
      ? (value as readonly { readonly message: string }[]).map(({ message }) => message)
      : messagesIn(value),
  );
}

describe("serviceRuleProblems()", () => {
  it.each(ACCEPTED_SERVICES)("finds nothing in %s", (_, spec) => {
    expect(problemsOf(spec)).toEqual([]);
  });

  const refused = REFUSED_SERVICES.filter(([, , refusal]) => !ELSEWHERE.some((message) => refusal.includes(message)));

  it.each(refused)("refuses %s, as the API server does", (_, spec) => {
    expect(problemsOf(spec)).not.toEqual([]);
  });

  it("has the words of the API server for every rule of the definition", () => {
    const found = [
      ...REFUSED_SERVICES.flatMap(([, spec]) => problemsOf(spec)),
      ...["ca", "X".repeat(4), "a".repeat(53)].flatMap((name) => problemsOf({ backend: { type: "memory" } }, name)),
      ...problemsOf({ backend: { type: "redis", redis: { type: "sentinel" } } }),
      ...problemsOf({ backend: { type: "memcached" } }),
    ].join("\n");
    const missing = messagesIn(parse(serviceCrdYaml())).filter(
      (message) => !found.includes(message.replace(/^metadata\.name /, "")),
    );
    expect([...new Set(missing)]).toEqual(ELSEWHERE);
  });

  it.each([
    {
      spec: { backend: { type: "memory" }, replicas: 2 },
      problem: "spec.backend: more than one pod with the backend memory, where each pod counts by itself",
    },
    {
      spec: { backend: { type: "redis" } },
      problem: "spec.backend.redis: redis is required when type is redis, and must be absent otherwise",
    },
    {
      spec: { backend: { type: "memory" }, networkPolicy: { from: [{ podSelector: {} }, {}] } },
      problem: "spec.networkPolicy.from[1]: either ipBlock, or podSelector and namespaceSelector",
    },
    {
      spec: { backend: { type: "memory" }, imagePullSecrets: [{ name: "a" }, { name: "b" }, { name: "a" }] },
      problem: 'spec.imagePullSecrets[2].name: duplicate name "a", first at spec.imagePullSecrets[0]',
    },
    {
      spec: {
        backend: { type: "memory" },
        env: [
          { name: "WORKERS", value: "2" },
          { name: "WORKERS", value: "4" },
        ],
      },
      problem: 'spec.env[1].name: must not name a variable twice, is "WORKERS"',
    },
  ])("places $problem", ({ spec, problem }) => {
    expect(problemsOf(spec)).toEqual([expect.stringContaining(problem)]);
  });

  it("places what is wrong with the name at the name", () => {
    expect(problemsOf({ backend: { type: "memory" } }, "ca")).toEqual([
      "metadata.name: must not be ca, because ca.crt is the file of the authorities, next to the certificates that are named after resources",
    ]);
  });
});
