// Units of the reader of values.yaml and of the schema that follows from it.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { constrainedPaths } from "./constraints.ts";
import { listLeaves, readValues } from "./documented-values.ts";
import { valuesSchema } from "./values-schema.ts";

const TEXT = `# Values of the chart.

# -- Labels of all
# objects.
commonLabels: {}
image:
  # -- Tag of the image.
  tag: ""
  # When the kubelet pulls, in short:
  # -- Policy.
  pullPolicy: Always
# -- Free.
resources:
  limits:
    memory: 1Gi
`;

it("readValues() reads each value with its comment, and takes a mapping with a comment as a whole", () => {
  expect(listLeaves(readValues(TEXT))).toEqual([
    { path: "commonLabels", leaf: { kind: "leaf", description: "Labels of all objects.", default: {} } },
    { path: "image.tag", leaf: { kind: "leaf", description: "Tag of the image.", default: "" } },
    { path: "image.pullPolicy", leaf: { kind: "leaf", description: "Policy.", default: "Always" } },
    { path: "resources", leaf: { kind: "leaf", description: "Free.", default: { limits: { memory: "1Gi" } } } },
  ]);
});

it.each([
  { text: "a: 1\n", message: `Cannot describe the value a: it has no comment that begins with "# -- "` },
  { text: "# -- A.\na: 1\nb:\n  c: true\n", message: "Cannot describe the value b.c" },
  { text: "- 1\n", message: "Cannot read the values: they are no mapping" },
])("readValues() refuses $text", ({ text, message }) => {
  expect(() => readValues(text)).toThrow(message);
});

it("valuesSchema() accepts the keys of a group only, and any key of a free mapping", () => {
  expect(valuesSchema("weir", readValues(TEXT))).toEqual({
    $schema: "http://json-schema.org/draft-07/schema#",
    title: "Values of weir",
    type: "object",
    additionalProperties: false,
    properties: {
      commonLabels: {
        description: "Labels of all objects.",
        type: "object",
        additionalProperties: { type: "string" },
        propertyNames: { not: { pattern: String.raw`^(app\.kubernetes\.io|helm\.sh)/` } },
      },
      image: {
        type: "object",
        additionalProperties: false,
        properties: {
          tag: { description: "Tag of the image.", type: "string" },
          pullPolicy: { description: "Policy.", enum: ["Always", "IfNotPresent", "Never"] },
        },
      },
      resources: { description: "Free.", type: "object" },
      global: { type: "object", additionalProperties: true },
    },
  });
});

it.each(["weir", "weir-crds", "weir-account"])("constrainedPaths() are values of %s", (chart) => {
  const text = readFileSync(join(import.meta.dirname, "../..", chart, "values.yaml"), "utf8");
  const paths = listLeaves(readValues(text)).map(({ path }) => path);
  expect(constrainedPaths(chart).filter((path) => !paths.includes(path))).toEqual([]);
});
