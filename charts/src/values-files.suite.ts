// The charts and their values files, for the tests that render each of them.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import { CHARTS } from "@weir/harness/helm/helm";

/** The charts of this folder. */
export const CHART_NAMES: readonly string[] = readdirSync(CHARTS).filter((name) =>
  existsSync(join(CHARTS, name, "Chart.yaml")),
);

/** A values file of a chart. */
export interface ValuesFile {
  readonly chart: string;
  /** Its name without the ending. */
  readonly name: string;
  readonly path: string;
  readonly values: object;
  /** The committed rendering. */
  readonly golden: string;
}

/** Every values file of every chart. */
export const VALUES_FILES: readonly ValuesFile[] = valuesFilesOf(CHARTS);

/** The values files of the charts of a folder. */
export function valuesFilesOf(charts: string): readonly ValuesFile[] {
  return CHART_NAMES.flatMap((chart) => {
    const folder = join(charts, chart, "ci");
    const names = readdirSync(folder).filter((name) => name.endsWith(".yaml"));
    return names.map((file) => ({
      chart,
      name: file.slice(0, -".yaml".length),
      path: join(folder, file),
      values: (parse(readFileSync(join(folder, file), "utf8")) ?? {}) as object,
      golden: join(folder, "golden", file),
    }));
  });
}
