// Writes what the charts contain twice: values.schema.json and the table of values in README.md, both from
// values.yaml and the settings of programs; and the custom resources in weir-crds.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { emitBlocks, emitPage, emitText, inlineCode, markdownTable } from "./generated-page.ts";
import { readSections } from "./settings-docs.ts";

/** The exports of charts/src/chart-files.ts that this program uses; it loads the file at run time. */
interface ChartFilesModule {
  chartFiles: (
    root: string,
    namesOf: (program: string) => readonly string[],
  ) => readonly {
    readonly chart: string;
    readonly schema: unknown;
    readonly rows: readonly (readonly [string, string, string])[];
  }[];
  definitionFiles: (root: string) => ReadonlyMap<string, string>;
}

const root = process.cwd();
const { chartFiles, definitionFiles } = (await import(join(root, "charts/src/chart-files.ts"))) as ChartFilesModule;
const { sections } = await readSections(root);

/** The names and aliases of the settings of a program. */
function settingNamesOf(program: string): readonly string[] {
  const settings = sections.find((section) => section.program === program)?.settings;
  if (settings === undefined || typeof settings === "string") throw new Error(`Cannot find the settings of ${program}`);
  return settings.flatMap(({ names }) => names);
}

for (const { chart, schema, rows } of chartFiles(root, settingNamesOf)) {
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
