// Tests of changes to stored resources on a real API server: the domain, rules of several managers,
// and resources that were stored under an earlier CRD.
import { readFileSync } from "node:fs";

import { eventually } from "@weir/harness/processes/eventually";
import type { ProgramResult } from "@weir/harness/processes/run-to-end";
import { type KubernetesCluster, startKubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { parse } from "yaml";

import { manifest } from "./server-case.suite.ts";

const CRD = readFileSync(new URL("../../../crds/ratelimitconfigs.yaml", import.meta.url), "utf8");
let cluster: KubernetesCluster;
beforeAll(async () => {
  cluster = await startKubernetesCluster();
  await cluster.installKinds("ratelimitconfigs");
});
afterAll(async () => {
  await cluster.stop();
});
beforeEach(async () => {
  await cluster.kubectl(["delete", "rlc", "--all"]);
});

/** Applies the spec of the resource `x`, as a manager of server-side apply. */
async function applySpec(spec: string, manager = "one"): Promise<ProgramResult> {
  return await cluster.kubectl(["apply", "--server-side", `--field-manager=${manager}`, "-f", "-"], manifest(spec));
}

/** Applies rules with these values for one key, as a manager; returns the stored values. */
async function applyValues(manager: string, ...values: readonly string[]): Promise<readonly string[]> {
  const rules = values.map((value) => `{ key: path, value: "${value}" }`).join(", ");
  expect(await applySpec(`{ domain: shop, descriptors: [${rules}] }`, manager)).toMatchObject({ code: 0 });
  return await storedValues();
}

async function storedValues(): Promise<readonly string[]> {
  const { stdout } = await cluster.kubectl(["get", "rlc", "x", "-o", "jsonpath={.spec.descriptors[*].value}"]);
  return stdout.split(" ");
}

describe("the domain", () => {
  it("cannot be changed, and a re-created resource may have another", async () => {
    expect(await applySpec("{ domain: shop, fleets: [edge] }")).toMatchObject({ code: 0 });
    expect(await applySpec("{ domain: store, fleets: [edge] }")).toMatchObject({
      code: 1,
      stderr:
        'The RateLimitConfig "x" is invalid: spec.domain: Forbidden: domain cannot be changed; delete and re-create the resource\n',
    });
    expect(await applySpec("{ domain: shop, fleets: [core] }")).toMatchObject({ code: 0 });
    await cluster.kubectl(["delete", "rlc", "x"]);
    expect(await applySpec("{ domain: store }")).toMatchObject({ code: 0 });
  });
});

describe("server-side apply by several managers", () => {
  it("puts the rules of the applying manager into its order, and keeps the places of the others", async () => {
    expect(await applyValues("one", "a*", "b*", "c*")).toEqual(["a*", "b*", "c*"]);
    expect(await applyValues("two", "x*", "y*")).toEqual(["a*", "b*", "c*", "x*", "y*"]);
    expect(await applyValues("one", "c*", "n*", "a*", "b*")).toEqual(["c*", "x*", "y*", "n*", "a*", "b*"]);
    expect(await applyValues("two", "y*", "x*")).toEqual(["c*", "y*", "n*", "a*", "b*", "x*"]);
    expect(await applyValues("one", "b*")).toEqual(["y*", "b*", "x*"]);
  });

  it("removes the rules that kubectl applied on the client's side before", async () => {
    const before = manifest('{ domain: shop, descriptors: [{ key: path, value: "a*" }, { key: path, value: "b*" }] }');
    expect(await cluster.kubectl(["apply", "-f", "-"], before)).toMatchObject({ code: 0 });
    expect(await applyValues("one", "b*", "c*")).toEqual(["b*", "c*"]);
  });

  it("rejects another limit for a rule of another manager", async () => {
    const spec = (requests: number): string =>
      `{ domain: shop, descriptors: [{ key: path, rateLimit: { unit: day, requestsPerUnit: ${requests} } }] }`;
    expect(await applySpec(spec(1), "one")).toMatchObject({ code: 0 });
    const { code, stderr } = await applySpec(spec(2), "two");
    expect(code).toBe(1);
    expect(stderr).toContain('conflict with "one": .spec.descriptors[key="path",value=""].rateLimit.requestsPerUnit');
  });

  it("takes an absent, an empty and a null value for the same rule", async () => {
    for (const rule of ["key: k", 'key: k, value: ""', "key: k, value: null", "key: k, shadowMode: true"])
      expect(await applySpec(`{ domain: shop, descriptors: [{ ${rule} }, { key: z }] }`)).toMatchObject({ code: 0 });
    const { stdout } = await cluster.kubectl(["get", "rlc", "x", "-o", "jsonpath={.spec.descriptors}"]);
    expect(JSON.parse(stdout)).toEqual([
      { key: "k", value: "", shadowMode: true },
      { key: "z", value: "" },
    ]);
  });
});

describe("a resource that was stored under the CRD with atomic lists", () => {
  /** Stores the spec of `x` under the earlier CRD, and installs the present one. */
  async function storeBefore(spec: string): Promise<void> {
    await installCrd(JSON.stringify(earlierCrd()));
    await eventually("the earlier CRD to be served", async () => {
      expect(await applySpec("{ domain: twice, descriptors: [{ key: a }, { key: a }] }")).toMatchObject({ code: 0 });
    });
    await cluster.kubectl(["delete", "rlc", "x"]);
    expect(await applySpec(spec)).toMatchObject({ code: 0 });
    await installCrd(CRD);
    const twice = manifest("{ domain: twice, descriptors: [{ key: a }, { key: a }] }", "name: other");
    await eventually("the present CRD to be served", async () => {
      const { stderr } = await cluster.kubectl(["create", "--dry-run=server", "-f", "-"], twice);
      expect(stderr).toContain("Duplicate value");
    });
  }

  it("may keep its duplicate rules in updates, but not in server-side apply", async () => {
    const spec = "{ domain: shop, descriptors: [{ key: a }, { key: b }, { key: a, shadowMode: true }] }";
    await storeBefore(spec);
    expect(await cluster.kubectl(["label", "rlc", "x", "team=a"])).toMatchObject({ code: 0 });
    const other = JSON.stringify({ spec: { descriptors: [{ key: "c" }, { key: "c" }] } });
    expect(await cluster.kubectl(["patch", "rlc", "x", "--type=merge", "-p", other])).toMatchObject({ code: 0 });
    expect((await applySpec(spec)).stderr).toContain('.spec.descriptors: duplicate entries for key [key="a",value=""]');
    const right = JSON.stringify({ spec: { descriptors: [{ key: "c" }] } });
    expect(await cluster.kubectl(["patch", "rlc", "x", "--type=merge", "-p", right])).toMatchObject({ code: 0 });
    expect((await cluster.kubectl(["patch", "rlc", "x", "--type=merge", "-p", other])).stderr).toContain("Duplicate");
  });

  it("loses its duplicate rules when a manifest without them is applied", async () => {
    await storeBefore("{ domain: shop, descriptors: [{ key: a }, { key: b }, { key: a, quotaMode: true }] }");
    expect(await applySpec("{ domain: shop, descriptors: [{ key: a, shadowMode: true }, { key: b }] }")).toMatchObject({
      code: 0,
    });
    const { stdout } = await cluster.kubectl(["get", "rlc", "x", "-o", "jsonpath={.spec.descriptors}"]);
    expect(JSON.parse(stdout)).toEqual([
      { key: "a", value: "", shadowMode: true },
      { key: "b", value: "" },
    ]);
  });

  it("keeps removed rules unless the manifest was applied once before", async () => {
    const before = '{ domain: shop, descriptors: [{ key: path, value: "a*" }, { key: path, value: "b*" }] }';
    const after = '{ domain: shop, descriptors: [{ key: path, value: "a*" }] }';
    await storeBefore(before);
    await applySpec(after);
    expect(await storedValues()).toEqual(["a*", "b*"]);
    await applySpec(before);
    await applySpec(after);
    expect(await storedValues()).toEqual(["a*"]);
  });

  it("may keep control characters where they are", async () => {
    const spec = (key: string): string => `{ domain: "shop\\0", descriptors: [{ key: "${key}" }, { key: b }] }`;
    await storeBefore(spec("a\\0"));
    const change = (key: string): string => JSON.stringify({ spec: { descriptors: [{ key, shadowMode: true }] } });
    expect(await cluster.kubectl(["patch", "rlc", "x", "--type=merge", "-p", change("a\0")])).toMatchObject({
      code: 0,
    });
    const { stderr } = await cluster.kubectl(["patch", "rlc", "x", "--type=merge", "-p", change("c\0")]);
    expect(stderr).toContain('spec.descriptors[0].key: Invalid value: "c\\x00"');
  });
});

async function installCrd(text: string): Promise<void> {
  const args = ["apply", "--server-side", "--force-conflicts", "-f", "-"];
  expect(await cluster.kubectl(args, text)).toMatchObject({ code: 0 });
}

/** The CRD with the lists and values of rules as they were: atomic, without default and pattern. */
function earlierCrd(): unknown {
  return JSON.parse(JSON.stringify(parse(CRD)), (_, value: unknown) => {
    if (typeof value !== "object" || value === null) return value;
    const schema = value as Readonly<Record<string, unknown>>;
    const { default: _default, pattern, ...rest } = schema;
    const keys = schema["x-kubernetes-list-map-keys"];
    if (Array.isArray(keys) && keys.includes("value")) {
      const { "x-kubernetes-list-map-keys": _keys, ...list } = schema;
      return { ...list, "x-kubernetes-list-type": "atomic" };
    }
    return typeof pattern === "string" && pattern.includes("x00") ? rest : value;
  });
}
