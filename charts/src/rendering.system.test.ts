// The renderings of the charts are the committed ones, and Helm's linter accepts the charts with all values files.
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parseAllDocuments, stringify } from "yaml";
import { CHARTS, helm } from "@weir/harness/helm/helm";
import { renderChart, RenderedChart, renderYaml } from "@weir/harness/helm/render";
import { CHART_NAMES, VALUES_FILES } from "./values-files.suite.ts";

describe("a chart", () => {
  it.each(VALUES_FILES)("$chart with $name renders to its golden", async ({ chart, values, golden }) => {
    const yaml = await renderYaml({ chart, values });
    await expect(yaml).toMatchFileSnapshot(golden);
    // Such as a label that is there twice, which kubectl takes and other tools refuse.
    expect(parseAllDocuments(yaml).flatMap(({ errors }) => errors)).toEqual([]);
    // Helm 4 creates webhooks before the custom resources that they are asked about.
    const sorted = ({ objects }: RenderedChart): readonly string[] => objects.map((each) => stringify(each)).toSorted();
    expect(sorted(await renderChart({ chart, values, helmVersion: 4 }))).toEqual(sorted(RenderedChart.parse(yaml)));
  });

  it.each(CHART_NAMES)("%s passes helm lint --strict with each values file", async (chart) => {
    for (const { path } of VALUES_FILES.filter((file) => file.chart === chart)) {
      const { code, stdout } = await helm(["lint", "--strict", "--quiet", "--values", path, join(CHARTS, chart)]);
      expect({ code, path }, stdout).toEqual({ code: 0, path });
    }
  });
});
