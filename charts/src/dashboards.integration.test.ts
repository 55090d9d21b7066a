// The dashboards of the charts, as Grafana reads them: its own types by the compiler, and what types cannot say.
import { execFile } from "node:child_process";
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CHARTS } from "@weir/harness/helm/helm";
import type { GrafanaDashboard } from "./grafana-dashboard.suite.ts";

type Panel = GrafanaDashboard["panels"][number];

/** Columns of Grafana's grid. */
const GRID_WIDTH = 24;

/** Those of Grafana's units that the dashboards use; another is checked against `getValueFormats` of @grafana/data. */
const UNITS = new Set(["bytes", "cps", "none", "ops", "percentunit", "reqps", "s", "short"]);

/** Variables of Grafana itself that its Prometheus plugin replaces. */
const BUILT_IN = new Set(["__rate_interval", "__interval", "__range"]);

const DASHBOARDS = globSync("*/dashboards/*.json", { cwd: CHARTS }).map((path) => {
  const text = readFileSync(join(CHARTS, path), "utf8");
  return { path, text, dashboard: JSON.parse(text) as GrafanaDashboard };
});

/** Typing errors in the first dashboard: a text, what it becomes, and what the compiler names. */
const TYPING_ERRORS = [
  { name: "a property of the dashboard", from: '"graphTooltip": 1', to: '"graphTooltips": 1', found: "graphTooltips" },
  { name: "an option of a panel", from: '"graphMode": "area"', to: '"graphMode": "arena"', found: '"arena"' },
  { name: "a style of lines", from: '"drawStyle"', to: '"drawStile"', found: "drawStile" },
  { name: "a part of a query", from: '"legendFormat"', to: '"legend"', found: "legend" },
  { name: "a variable", from: '"type": "datasource"', to: '"type": "source"', found: '"source"' },
] as const;

describe("the dashboards of the charts", () => {
  const folder = makeTemporaryFolder();
  let problems: string;

  beforeAll(async () => {
    const { text } = DASHBOARDS[0]!;
    for (const [index, dashboard] of DASHBOARDS.entries()) write(`dashboard-${index}`, dashboard.text);
    for (const [index, { from, to }] of TYPING_ERRORS.entries()) write(`error-${index}`, text.replace(from, to));
    problems = await compile();
  });

  afterAll(() => folder.remove());

  it("have the types that Grafana gives to dashboards, panels, options and variables", () => {
    expect(DASHBOARDS).toHaveLength(4);
    expect(problems).toContain("error-0.ts"); // The compiler has run.
    expect(problems).not.toContain("dashboard-");
  });

  it.each(TYPING_ERRORS.map((error, index) => ({ ...error, index })))(
    "would be refused for a typing error in $name",
    ({ from, index, found }) => {
      expect(DASHBOARDS[0]!.text).toContain(from);
      const [, own = ""] = problems.split(new RegExp(`^error-${index}\\.ts`, "m"));
      expect(own.split(/^error-\d/m)[0]).toContain(found);
    },
  );

  it.each(DASHBOARDS)("$path has panels that Grafana can place and label", ({ dashboard }) => {
    const { uid, schemaVersion, panels } = dashboard;
    expect(uid).toMatch(/^weir-[a-z-]{1,35}$/);
    expect(schemaVersion).toBe(39);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const panel of panels) {
      const { x, w } = placeOf(panel);
      expect(x + w, panel.title).toBeLessThanOrEqual(GRID_WIDTH);
      if (panel.type === "row") continue;
      expect(UNITS, panel.title).toContain(panel.fieldConfig.defaults.unit);
      expect(panel.datasource?.uid, panel.title).toMatch(/^\$\{datasource\}$/);
      expect(panel.targets.length, panel.title).toBeGreaterThan(0);
      expect(new Set(panel.targets.map(({ refId }) => refId)).size, panel.title).toBe(panel.targets.length);
    }
    const overlaps = panels.flatMap((one, index) =>
      panels.slice(index + 1).flatMap((other) => (overlap(one, other) ? [`${one.title} / ${other.title}`] : [])),
    );
    expect(overlaps).toEqual([]);
  });

  it.each(DASHBOARDS)("$path uses each variable after its definition, and no other", ({ dashboard }) => {
    const { templating, panels } = dashboard;
    expect(templating.list[0]).toMatchObject({ name: "datasource", type: "datasource", query: "prometheus" });
    const defined = new Set<string>();
    const used = new Set<string>();
    for (const { name, datasource, query } of templating.list) {
      for (const variable of variablesIn({ datasource, query })) {
        expect(defined, `of ${name}`).toContain(variable);
        used.add(variable);
      }
      expect(defined).not.toContain(name);
      defined.add(name);
    }
    for (const panel of panels) {
      for (const variable of variablesIn(panel)) {
        expect(defined, panel.title).toContain(variable);
        used.add(variable);
      }
    }
    expect([...used].toSorted()).toEqual([...defined].toSorted());
  });

  it("have identifiers and titles of their own", () => {
    for (const key of ["uid", "title"] as const)
      expect(new Set(DASHBOARDS.map(({ dashboard }) => dashboard[key])).size).toBe(DASHBOARDS.length);
  });

  it("are checked with the types of the Grafana in compose.yaml", () => {
    const { devDependencies } = JSON.parse(readFileSync(join(CHARTS, "package.json"), "utf8")) as {
      readonly devDependencies: Readonly<Record<string, string>>;
    };
    const compose = readFileSync(join(CHARTS, "../compose.yaml"), "utf8");
    expect(compose).toContain(`docker.io/grafana/grafana:${devDependencies["@grafana/schema"]}\n`);
  });

  /** Writes a module that is valid when the text is a dashboard as Grafana's types have it. */
  function write(name: string, text: string): void {
    const type = JSON.stringify(join(CHARTS, "src/grafana-dashboard.suite.ts"));
    const lines = [
      `import type { GrafanaDashboard } from ${type};`,
      `export const dashboard: GrafanaDashboard = ${text};`,
    ];
    writeFileSync(join(folder.path, `${name}.ts`), lines.join("\n"));
  }

  /** Compiles the modules of the folder; resolves to the report of the compiler. */
  async function compile(): Promise<string> {
    const compilerOptions = {
      ...{ noEmit: true, strict: true, skipLibCheck: true, allowImportingTsExtensions: true },
      ...{ target: "es2024", module: "nodenext", types: [] },
    };
    writeFileSync(join(folder.path, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["*.ts"] }));
    const compiler = join(CHARTS, "../node_modules/.bin/tsc");
    return await new Promise((resolve) => {
      execFile(compiler, ["--pretty", "false"], { cwd: folder.path }, (_error, stdout) => resolve(stdout));
    });
  }
});

/** Names after `$` in the texts of a value; those of Grafana itself must be known. */
function variablesIn(value: unknown): readonly string[] {
  const names = [...JSON.stringify(value).matchAll(/\$\{?(\w+)\}?/g)].map(([, name = ""]) => name);
  const own = names.filter((name) => !BUILT_IN.has(name) && name !== "__all");
  expect(own.filter((name) => name.startsWith("__"))).toEqual([]);
  return own;
}

function placeOf({ gridPos, title }: Panel): NonNullable<Panel["gridPos"]> {
  expect(gridPos, title).toBeDefined();
  return gridPos!;
}

function overlap(onePanel: Panel, otherPanel: Panel): boolean {
  const [one, other] = [placeOf(onePanel), placeOf(otherPanel)];
  const isBeside = one.x + one.w <= other.x || other.x + other.w <= one.x;
  const isAbove = one.y + one.h <= other.y || other.y + other.h <= one.y;
  return !isBeside && !isAbove;
}
