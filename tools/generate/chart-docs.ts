// Writes what the charts contain twice: values.schema.json and the table of values in README.md, both from
// values.yaml; and the custom resources in weir-crds.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { emitBlocks, emitPage, emitText, inlineCode, markdownTable } from "./generated-page.ts";

/** What this program needs of charts/src/chart-files.ts, which it loads at run time. */
interface ChartFilesModule {
  chartFiles: (root: string) => readonly {
    readonly chart: string;
    readonly schema: unknown;
    readonly rows: readonly (readonly [string, string, string])[];
  }[];
  definitionFiles: (root: string) => ReadonlyMap<string, string>;
}

const root = process.cwd();
const { chartFiles, definitionFiles } = (await import(join(root, "charts/src/chart-files.ts"))) as ChartFilesModule;
for (const { chart, schema, rows } of chartFiles(root)) {
  await emitPage(`charts/${chart}/values.schema.json`, JSON.stringify(schema));
  const table = markdownTable(
    ["Value", "Default", "Effect"],
    rows.map(([path, standard, effect]) => [inlineCode(path), inlineCode(standard), effect]),
  );
  const page = `charts/${chart}/README.md`;
  if (!existsSync(page)) throw new Error(`Cannot write the values of ${chart}: ${page} does not exist`);
  await emitBlocks(page, { values: table });
}
for (const [name, text] of definitionFiles(root)) emitText(`charts/weir-crds/definitions/${name}`, text);
