// docs/operations.md and docs/security.md against what they describe: each alert links to its section, dashboards have
// what Grafana needs, and the ports of listeners are the defaults of the settings.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { ROOT } from "../parts/programs.ts";
import { anchorsOf } from "./links.ts";
import { readPage } from "./pages.ts";

const RUNBOOK = "https://github.com/weir-dev/weir/blob/main/docs/operations.md#";

/** Columns of Grafana's grid. */
const GRID_WIDTH = 24;

/** A row of the listeners: program, setting, default port, and that of the charts where it differs. */
const LISTENER = /^\| `(weir-[a-z-]+)` +\| `([A-Z_]+)` +\| (\d+)(?:[^|(]*\((\d+)\))?/gm;

interface Rendered {
  readonly kind: string;
  readonly spec: { readonly template: { readonly spec: { readonly containers: readonly Container[] } } };
}

interface Container {
  readonly command: readonly string[];
  readonly ports: readonly { readonly containerPort: number }[];
}

interface Rule {
  readonly alert: string;
  readonly labels: { readonly severity: string };
  readonly annotations: Readonly<Record<string, string>>;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly datasource?: { readonly uid: string };
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[];
}

const RULES = globSync("charts/*/alerts/*.yaml", { cwd: ROOT }).flatMap((path) => {
  const { groups } = parse(readFileSync(join(ROOT, path), "utf8")) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
});

const DASHBOARDS = globSync("charts/*/dashboards/*.json", { cwd: ROOT }).map((path) => ({
  path,
  dashboard: JSON.parse(readFileSync(join(ROOT, path), "utf8")) as {
    readonly uid: string;
    readonly title: string;
    readonly schemaVersion: number;
    readonly templating: { readonly list: readonly { readonly name: string; readonly type: string }[] };
    readonly panels: readonly Panel[];
  },
}));

describe("the alerts of the charts", () => {
  const anchors = anchorsOf(readPage(ROOT, "docs/operations.md"));

  it.each(RULES)("$alert has a severity, texts, and a section that exists", ({ alert, labels, annotations }) => {
    expect(labels.severity).toMatch(/^(critical|warning|info)$/);
    expect(Object.keys(annotations).toSorted()).toEqual(["description", "runbook_url", "summary"]);
    expect(annotations["runbook_url"]).toBe(RUNBOOK + alert.toLowerCase());
    expect(anchors).toContain(alert.toLowerCase());
  });

  it("have names of their own", () => {
    expect(new Set(RULES.map(({ alert }) => alert)).size).toBe(RULES.length);
  });
});

describe("the dashboards of the charts", () => {
  it.each(DASHBOARDS)("$path has what Grafana needs", ({ dashboard: { uid, schemaVersion, templating, panels } }) => {
    expect(uid).toMatch(/^weir-[a-z-]{1,35}$/);
    expect(schemaVersion).toBe(39);
    expect(templating.list[0]).toMatchObject({ name: "datasource", type: "datasource" });
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { type, title, datasource, targets = [], gridPos } of panels) {
      expect(gridPos.x + gridPos.w, title).toBeLessThanOrEqual(GRID_WIDTH);
      if (type === "row") continue;
      expect(datasource?.uid, title).toMatch(/^\$\{datasource\}$/);
      expect(targets.length, title).toBeGreaterThan(0);
    }
    const overlaps = panels.flatMap((one, index) =>
      panels.slice(index + 1).flatMap((other) => (overlap(one, other) ? [`${one.title} / ${other.title}`] : [])),
    );
    expect(overlaps).toEqual([]);
  });

  it("have identifiers of their own", () => {
    expect(new Set(DASHBOARDS.map(({ dashboard }) => dashboard.uid)).size).toBe(DASHBOARDS.length);
  });
});

describe("the listeners of docs/security.md", () => {
  const settings = defaultsIn(readPage(ROOT, "docs/settings.md"));
  const pods = defaultsIn(
    `## \`weir-ratelimit\`\n${readPage(ROOT, "docs/ratelimit-settings.md").replaceAll(/^## /gm, "### ")}`,
  );
  const listeners = [...readPage(ROOT, "docs/security.md").matchAll(LISTENER)];

  it("are ten", () => {
    expect(listeners).toHaveLength(10);
  });

  it.each(listeners.map(([, program = "", setting = "", port = ""]) => ({ program, setting, port })))(
    "$program $setting is $port by default",
    ({ program, setting, port }) => {
      const defaults = program === "weir-ratelimit" ? pods : settings;
      expect(defaults.get(`${program} ${setting}`)?.split(":").at(-1)).toBe(port);
    },
  );
});

describe("the ports of the charts", () => {
  it("are those of the listeners of docs/security.md", () => {
    const listeners = [...readPage(ROOT, "docs/security.md").matchAll(LISTENER)].flatMap(
      ([, program = "", , port = "", inCharts = port]) =>
        program === "weir-ratelimit" ? [] : [`${program} ${inCharts}`],
    );
    expect(chartPorts().toSorted()).toEqual(listeners.toSorted());
  });
});

/** Program and port of every container of the charts with everything on. */
function chartPorts(): readonly string[] {
  const documents = globSync("charts/*/ci/golden/everything.yaml", { cwd: ROOT }).flatMap((path) =>
    parseAllDocuments(readFileSync(join(ROOT, path), "utf8")).map((document) => document.toJS() as Rendered | null),
  );
  return documents.flatMap((object) =>
    object?.kind === "Deployment"
      ? object.spec.template.spec.containers.flatMap(({ command, ports }) =>
          ports.map(({ containerPort }) => `${command[0]} ${containerPort}`),
        )
      : [],
  );
}

function overlap({ gridPos: one }: Panel, { gridPos: other }: Panel): boolean {
  const isBeside = one.x + one.w <= other.x || other.x + other.w <= one.x;
  const isAbove = one.y + one.h <= other.y || other.y + other.h <= one.y;
  return !isBeside && !isAbove;
}

/** Default by program and setting, of a generated page. */
function defaultsIn(page: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  let program = "";
  for (const line of page.split("\n")) {
    program = /^## `([^`]+)`/.exec(line)?.[1] ?? program;
    const [, setting, standard] = /^\| `([A-Z_]+)`[^|]*\| [^|]*\| `([^`]*)`/.exec(line) ?? [];
    if (setting !== undefined && standard !== undefined) found.set(`${program} ${setting}`, standard);
  }
  return found;
}
