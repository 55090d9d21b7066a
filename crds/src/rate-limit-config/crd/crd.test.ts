// Tests of the CRD against the rules of the API server for structural schemas, and against the
// fields that the schema has.
import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import { crdYaml } from "./crd.ts";

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: unknown;
  readonly required?: readonly string[];
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly maxItems?: number;
  readonly maxLength?: number;
}

interface Version {
  readonly schema: { readonly openAPIV3Schema: Schema };
  readonly additionalPrinterColumns: readonly { readonly name: string; readonly jsonPath: string }[];
}

const CRD = parse(crdYaml()) as {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly group: string;
    readonly names: Readonly<Record<string, unknown>>;
    readonly scope: string;
    readonly versions: readonly Version[];
  };
};

/**
 * Words that the API server refuses in a structural schema, or that make a node more than one type.
 */
const REFUSED = [
  "$ref",
  "$schema",
  "$defs",
  "$id",
  "definitions",
  "patternProperties",
  "propertyNames",
  "dependencies",
  "id",
  "deprecated",
  "uniqueItems",
  "oneOf",
  "allOf",
  "not",
];

function root(): Schema {
  const schema = CRD.spec.versions[0]?.schema.openAPIV3Schema;
  if (schema === undefined) throw new Error("The CRD has no version");
  return schema;
}

function at(schema: Schema | undefined, ...path: readonly string[]): Schema {
  let found = schema;
  for (const step of path) found = step === "[]" ? found?.items : found?.properties?.[step];
  if (found === undefined) throw new Error(`The schema has nothing at ${path.join(".")}`);
  return found;
}

function nodesOf(schema: Schema, path = ""): readonly { readonly path: string; readonly schema: Schema }[] {
  const properties = Object.entries(schema.properties ?? {}).flatMap(([name, inner]) =>
    nodesOf(inner, `${path}.${name}`),
  );
  return [{ path, schema }, ...properties, ...(schema.items === undefined ? [] : nodesOf(schema.items, `${path}[]`))];
}

describe("crdYaml()", () => {
  it("is what is committed", () => {
    expect(crdYaml()).toBe(readFileSync(new URL("../../../crds/ratelimitconfigs.yaml", import.meta.url), "utf8"));
  });

  it("names the resource", () => {
    expect(CRD.metadata.name).toBe("ratelimitconfigs.ratelimit.weir.dev");
    expect(CRD.spec).toMatchObject({
      group: "ratelimit.weir.dev",
      names: {
        kind: "RateLimitConfig",
        listKind: "RateLimitConfigList",
        plural: "ratelimitconfigs",
        singular: "ratelimitconfig",
        shortNames: ["rlc"],
      },
      scope: "Namespaced",
      versions: [{ name: "v1alpha1", served: true, storage: true, subresources: { status: {} } }],
    });
  });

  it("shows domain and conditions in kubectl get", () => {
    expect(CRD.spec.versions[0]?.additionalPrinterColumns.map(({ name, jsonPath }) => `${name} ${jsonPath}`)).toEqual([
      "Domain .spec.domain",
      'Accepted .status.conditions[?(@.type=="Accepted")].status',
      'Programmed .status.conditions[?(@.type=="Programmed")].status',
      "Pods .status.pods.summary",
      'Reason .status.conditions[?(@.type=="Ready")].reason',
      "Shadow .spec.shadowMode",
      "Fleets .spec.fleets",
      "Age .metadata.creationTimestamp",
    ]);
  });

  it("is structural: every node has one type, and none holds a word that the API server refuses", () => {
    const wrong = nodesOf(root()).filter(({ schema }) => {
      const isTyped = ["object", "array", "string", "integer", "boolean"].includes(schema.type ?? "");
      const isArrayWithItems = schema.type !== "array" || schema.items !== undefined;
      const isClosed = schema.properties === undefined || schema.additionalProperties === undefined;
      return !isTyped || !isArrayWithItems || !isClosed || REFUSED.some((word) => word in schema);
    });
    expect(wrong).toEqual([]);
  });

  it("describes every field but metadata, which is Kubernetes' own", () => {
    const silent = nodesOf(root()).filter(
      ({ path, schema }) => (schema.description ?? "") === "" && !isPlainItem(path),
    );
    expect(silent.map(({ path }) => path)).toEqual([".metadata"]);
  });

  it("requires only what has no meaning when it is absent", () => {
    const required = nodesOf(at(root(), "spec", "descriptors", "[]")).filter(
      ({ path }) => !path.includes("descriptors"),
    );
    expect(root().required).toEqual(["spec"]);
    expect(at(root(), "spec").required).toEqual(["domain"]);
    expect(required.flatMap(({ path, schema }) => (schema.required ?? []).map((name) => `${path}.${name}`))).toEqual([
      ".key",
      ".rateLimit.replaces[].name",
      ".rateLimits[].name",
      ".rateLimits[].unit",
      ".rateLimits[].requestsPerUnit",
    ]);
  });

  it("bounds what a rule may hold", () => {
    const rule = at(root(), "spec", "descriptors", "[]");
    expect(at(rule, "key")).toMatchObject({ type: "string", minLength: 1, maxLength: 256 });
    expect(at(rule, "value")).toMatchObject({ type: "string", maxLength: 1024 });
    expect(at(rule, "rateLimit", "unit").enum).toEqual(["second", "minute", "hour", "day", "week", "month", "year"]);
    expect(at(rule, "rateLimit", "requestsPerUnit")).toMatchObject({
      type: "integer",
      format: "int64",
      minimum: 0,
      maximum: 4_294_967_295,
    });
    expect(at(rule, "rateLimits")).toMatchObject({ minItems: 2, maxItems: 8, "x-kubernetes-list-map-keys": ["name"] });
    expect(at(rule, "metadata")).toMatchObject({ type: "object", "x-kubernetes-preserve-unknown-fields": true });
    expect(at(root(), "spec", "fleets")).toMatchObject({ type: "array", minItems: 1, "x-kubernetes-list-type": "set" });
  });

  it("bounds every list and every text, which the API server needs for what it spends on CEL", () => {
    const unbounded = nodesOf(root()).filter(({ schema }) => {
      if (schema.type === "array") return schema.maxItems === undefined;
      return (
        schema.type === "string" &&
        schema.maxLength === undefined &&
        schema.enum === undefined &&
        schema.format === undefined
      );
    });
    // A CEL rule bounds the second level: see schema.ts.
    expect(unbounded.map(({ path }) => path)).toEqual([".apiVersion", ".kind", ".spec.descriptors[].descriptors"]);
    expect(at(root(), "spec", "descriptors")).toMatchObject({ maxItems: 1024 });
    expect(at(root(), "spec", "descriptors", "[]", "descriptors", "[]", "descriptors")).toMatchObject({ maxItems: 64 });
  });

  it("distinguishes the rules of every level by key and value, where the empty value is the default", () => {
    const lists = nodesOf(root()).filter(({ path }) => path.endsWith(".descriptors"));
    expect(lists).toHaveLength(6);
    for (const { schema } of lists) {
      expect(schema).toMatchObject({ "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["key", "value"] });
      expect(at(schema, "[]", "value")).toMatchObject({ default: "" });
    }
  });

  it("has CEL rules for limits at every level, and for what costs more at the first level only", () => {
    const ruled = nodesOf(root()).flatMap(({ path, schema }) => {
      const rules = (schema as Readonly<Record<string, readonly unknown[] | undefined>>)["x-kubernetes-validations"];
      return rules === undefined ? [] : [`${path} ${rules.length}`];
    });
    expect(ruled).toEqual([
      ".spec.domain 1",
      ".spec.descriptors[] 8",
      ".spec.descriptors[].rateLimit 8",
      ".spec.descriptors[].rateLimits[] 7",
      ...[2, 3, 4, 5, 6].map((level) => `.spec${".descriptors[]".repeat(level)} 3`),
    ]);
  });

  it("writes out six levels of rules, all alike, and no seventh", () => {
    const levels = Array.from({ length: 6 }, (_, level) =>
      at(root(), "spec", ...Array.from({ length: level + 1 }, () => ["descriptors", "[]"]).flat()),
    );
    const fields = levels.map(({ properties }) =>
      Object.keys(properties ?? {}).filter((name) => name !== "descriptors"),
    );
    expect(new Set(fields.map((names) => names.join(" ")))).toEqual(
      new Set([
        "key value rateLimit rateLimits shadowMode detailedMetric quotaMode valueToMetric shareThreshold showValues metadata",
      ]),
    );
    expect(levels.map(({ properties }) => "descriptors" in (properties ?? {}))).toEqual([
      true,
      true,
      true,
      true,
      true,
      false,
    ]);
  });
});

/** Items of lists of texts say everything in the list itself. */
function isPlainItem(path: string): boolean {
  return path === ".spec.fleets[]";
}
