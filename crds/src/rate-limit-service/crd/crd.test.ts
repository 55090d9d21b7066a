// Tests of the CRDs of RateLimitService and RateLimitConfigRevision against the rules of the API server
// for structural schemas, and against our own: everything is described and bounded.
import { readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";
import { parse } from "yaml";

import { revisionCrdYaml } from "../../rate-limit-config-revision/crd/crd.ts";
import { serviceCrdYaml } from "./crd.ts";

interface Schema {
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly enum?: readonly string[];
  readonly format?: string;
  readonly maxItems?: number;
  readonly maxLength?: number;
  readonly maximum?: number;
  readonly maxProperties?: number;
  readonly "x-kubernetes-int-or-string"?: boolean;
  readonly "x-kubernetes-validations"?: readonly { readonly rule: string; readonly message: string }[];
}

interface Definition {
  readonly spec: {
    readonly names: Readonly<Record<string, unknown>>;
    readonly versions: readonly {
      readonly schema: { readonly openAPIV3Schema: Schema };
      readonly subresources?: unknown;
      readonly additionalPrinterColumns: readonly { readonly name: string; readonly priority?: number }[];
    }[];
  };
}

/** Words that the API server refuses in a structural schema. */
const REFUSED = ["$ref", "$schema", "$defs", "propertyNames", "patternProperties", "oneOf", "allOf", "not"];

const SERVICE = parse(serviceCrdYaml()) as Definition;

function committed(plural: string): string {
  return readFileSync(new URL(`../../../crds/${plural}.yaml`, import.meta.url), "utf8");
}

function root(definition: Definition): Schema {
  const schema = definition.spec.versions[0]?.schema.openAPIV3Schema;
  if (schema === undefined) throw new Error("The CRD has no version");
  return schema;
}

/** Every node with its path; the values of a mapping are at `{}`. */
function nodesOf(schema: Schema, path = ""): readonly { readonly path: string; readonly schema: Schema }[] {
  const { properties = {}, items, additionalProperties } = schema;
  return [
    { path, schema },
    ...Object.entries(properties).flatMap(([name, inner]) => nodesOf(inner, `${path}.${name}`)),
    ...(items === undefined ? [] : nodesOf(items, `${path}[]`)),
    ...(additionalProperties === undefined ? [] : nodesOf(additionalProperties, `${path}{}`)),
  ];
}

const NODES = nodesOf(root(SERVICE));

describe("the CRDs", () => {
  it("are what is committed", () => {
    expect(serviceCrdYaml()).toBe(committed("ratelimitservices"));
    expect(revisionCrdYaml()).toBe(committed("ratelimitconfigrevisions"));
  });

  it("have names, columns and subresources", () => {
    const { names, versions } = SERVICE.spec;
    expect(names).toMatchObject({ kind: "RateLimitService", plural: "ratelimitservices", shortNames: ["rls"] });
    expect(versions[0]?.subresources).toEqual({
      status: {},
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        labelSelectorPath: ".status.selector",
      },
    });
    const columns = versions[0]?.additionalPrinterColumns.filter(({ priority }) => priority === undefined);
    expect(columns?.map(({ name }) => name)).toEqual(["Ready", "Replicas", "Backend", "Fleet", "Degraded", "Age"]);
  });
});

describe("the schema of RateLimitService", () => {
  it("is structural", () => {
    const wrong = NODES.filter(({ schema }) => {
      const isTyped = schema.type !== undefined || schema["x-kubernetes-int-or-string"] === true;
      const isClosed = schema.properties === undefined || schema.additionalProperties === undefined;
      const isList = schema.type !== "array" || schema.items !== undefined;
      return !isTyped || !isClosed || !isList || REFUSED.some((word) => word in schema);
    });
    expect(wrong).toEqual([]);
  });

  it("describes every field but metadata, which is Kubernetes' own", () => {
    const silent = NODES.filter(({ path, schema }) => !/(\[\]|\{\})$/.test(path) && (schema.description ?? "") === "");
    expect(silent.map(({ path }) => path)).toEqual([".metadata"]);
  });

  it("bounds every list, text, number and mapping", () => {
    const unbounded = NODES.filter(({ schema }) => {
      const { type, maxItems, maxLength, maximum, maxProperties, properties, format } = schema;
      if (type === "array") return maxItems === undefined;
      if (type === "string") return maxLength === undefined && schema.enum === undefined && format === undefined;
      if (type === "integer") return maximum === undefined && format !== "int64";
      return type === "object" && properties === undefined && maxProperties === undefined;
    });
    expect(unbounded.map(({ path }) => path)).toEqual([".apiVersion", ".kind", ".metadata"]);
  });

  it("has CEL rules, each with a message that says what is allowed", () => {
    const rules = NODES.flatMap(({ schema }) => schema["x-kubernetes-validations"] ?? []);
    expect(rules.length).toBeGreaterThan(20);
    expect(rules.filter(({ message }) => message.length < 15)).toEqual([]);
  });
});
