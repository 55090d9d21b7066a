// Tests of the pages of docs/reference: their examples are what the schema accepts, and every field has one.
import { globSync, readFileSync } from "node:fs";

import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import * as z from "zod";

import { CONFIG_DEFINITION } from "./rate-limit-config/crd/crd.ts";
import { REVISION_DEFINITION } from "./rate-limit-config-revision/crd/crd.ts";
import { SERVICE_DEFINITION } from "./rate-limit-service/crd/crd.ts";
import { documentedKinds } from "./reference.ts";
import { type Definition, PATTERN_WORDS } from "./schema/definition.ts";
import { omitUnknown } from "./schema/problems.ts";

const ROOT = new URL("../../", import.meta.url);

/** The pages, each with its definition. */
const PAGES: Readonly<Record<string, Definition>> = {
  "docs/reference/rate-limit-config.md": CONFIG_DEFINITION,
  "docs/reference/rate-limit-service.md": SERVICE_DEFINITION,
  "docs/reference/rate-limit-config-revision.md": REVISION_DEFINITION,
};

/** The schema of what a block shows, and that: `spec: {env: [{name: LOG_LEVEL}]}` is one variable of the schema. */
function shownIn(schema: z.core.$ZodType, value: unknown): readonly [schema: z.core.$ZodType, value: unknown] {
  if (schema instanceof z.ZodOptional) return shownIn(schema.unwrap(), value);
  if (schema instanceof z.ZodArray && Array.isArray(value) && value.length === 1)
    return shownIn(schema.element, value[0]);
  const [[name, inner] = [], ...others] = Object.entries(value as object) as [string, unknown][];
  const field = schema instanceof z.ZodObject && name !== undefined ? schema.shape[name] : undefined;
  // A value that has all that it needs is what the block shows; what is around it may lack something.
  if (field === undefined || others.length > 0 || z.safeParse(schema, value).success) return [schema, value];
  return shownIn(field as z.core.$ZodType, inner);
}

function blocksOf(page: string): readonly string[] {
  const text = readFileSync(new URL(page, ROOT), "utf8");
  return [...text.matchAll(/```yaml\n([^`]*)```/g)].map(([, block = ""]) => block);
}

describe("the pages of docs/reference", () => {
  it("are one for each kind", () => {
    expect(globSync("docs/reference/*.md", { cwd: ROOT }).toSorted()).toEqual(Object.keys(PAGES).toSorted());
    expect(documentedKinds()).toHaveLength(3);
  });

  it("have examples", () => {
    expect(Object.keys(PAGES).map((page) => blocksOf(page).length > 5)).toEqual([true, true, false]);
  });

  it("has examples that the schema accepts", () => {
    const refused = Object.entries(PAGES).flatMap(([page, { spec, status }]) =>
      blocksOf(page).flatMap((block) => {
        const whole = z.strictObject({ spec: spec.optional(), ...(status && { status: status.optional() }) });
        const [schema, value] = shownIn(whole, parse(block));
        const { error } = z.safeParse(schema, value);
        const unknown = omitUnknown(value, schema as z.ZodType, {}).problems.map(({ message }) => message);
        return error === undefined && unknown.length === 0 ? [] : [{ page, block, error, unknown }];
      }),
    );
    expect(refused).toEqual([]);
  });
});

describe("documentedKinds()", () => {
  it("has the words of patterns, which the definition has not", () => {
    const { properties } = documentedKinds()[1]?.schema as { properties: { spec: { properties: object } } };
    expect(properties.spec.properties).toMatchObject({
      fleet: {
        [PATTERN_WORDS]: 'must consist of letters, digits, "-", "_" and ".", and begin and end with a letter or digit',
      },
    });
    const definition = readFileSync(new URL("../crds/ratelimitservices.yaml", import.meta.url), "utf8");
    expect(definition).not.toContain(PATTERN_WORDS);
  });
});
