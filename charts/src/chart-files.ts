// The content that tools/generate/chart-docs.ts writes into the charts: schemas, tables of values, and the
// custom resources.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf } from "@weir/kubernetes/mapping";
import { parse } from "yaml";
import { specSchema } from "./values/custom-resource-schema.ts";
import { listLeaves, readValues, type ValueGroup } from "./values/documented-values.ts";
import type { JsonSchema } from "./values/constraints.ts";
import { valuesSchema } from "./values/values-schema.ts";

/** The charts whose schema and table are generated. */
const GENERATED_CHARTS = ["weir-crds", "weir", "weir-account"] as const;

/** The programs whose settings a chart takes, by the path of the value. */
const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  weir: { "operator.settings": "weir-operator", "controlPlane.settings": "weir-control-plane" },
  "weir-account": { settings: "weir-account" },
};

/** The names of the settings of a program. */
export type SettingNames = (program: string) => readonly string[];

/** The content that is generated for one chart. */
export interface ChartFiles {
  /** Folder of the chart below `charts`. */
  readonly chart: string;
  readonly schema: JsonSchema;
  /** Rows of the table: value, default, effect. */
  readonly rows: readonly (readonly [string, string, string])[];
}

/**
 * Generates the content for each chart of `root`, the folder of the repository, from its values and the settings
 * of programs.
 */
export function chartFiles(root: string, namesOf: SettingNames): readonly ChartFiles[] {
  const service = readFileSync(join(root, "crds", "crds", "ratelimitservices.yaml"), "utf8");
  const serviceSpec = specSchema(fieldsOf(parse(service)));
  return GENERATED_CHARTS.map((chart) => {
    const values = readValues(readFileSync(join(root, "charts", chart, "values.yaml"), "utf8"));
    const settings = Object.entries(SETTINGS[chart] ?? {}).map(([path, program]) => [
      path,
      settingsSchema(namesOf(program)),
    ]);
    const given = {
      ...(Object.fromEntries(settings) as Readonly<Record<string, JsonSchema>>),
      ...(chart === "weir" && { "rateLimitService.spec": serviceSpec }),
    };
    return { chart, schema: valuesSchema(chart, values, given), rows: rowsOf(values) };
  });
}

/** The definitions that the chart weir-crds contains: those of the workspace crds, by the name of the file. */
export function definitionFiles(root: string): ReadonlyMap<string, string> {
  const folder = join(root, "crds", "crds");
  return new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), "utf8")]));
}

/** Settings by name. A number or a boolean would be a surprise in the environment, where all is text. */
function settingsSchema(names: readonly string[]): JsonSchema {
  const properties = Object.fromEntries(names.toSorted().map((name) => [name, { type: "string" }]));
  return { type: "object", additionalProperties: false, properties };
}

function rowsOf(values: ValueGroup): ChartFiles["rows"] {
  return listLeaves(values).map(({ path, leaf }) => [path, JSON.stringify(leaf.default), leaf.description]);
}
