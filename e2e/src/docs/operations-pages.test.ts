// docs/operations.md and docs/security.md against what they describe: each alert links to its section, and the
// ports of listeners are the defaults of the settings.
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { ROOT } from "@weir/harness/processes/programs";
import { anchorsOf } from "./links.ts";
import { readPage } from "./pages.ts";

const RUNBOOK = "https://github.com/weir-dev/weir/blob/main/docs/operations.md#";

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

const RULES = globSync("charts/*/alerts/*.yaml", { cwd: ROOT }).flatMap((path) => {
  const { groups } = parse(readFileSync(join(ROOT, path), "utf8")) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
});

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

describe("the listeners of docs/security.md", () => {
  const settings = defaultsIn(readPage(ROOT, "docs/settings.md"));
  const pods = defaultsIn(
    `## \`weir-ratelimit\`\n${readPage(ROOT, "docs/ratelimit-settings.md").replaceAll(/^## /gm, "### ")}`,
  );
  const listeners = [...readPage(ROOT, "docs/security.md").matchAll(LISTENER)];

  it("are eleven", () => {
    expect(listeners).toHaveLength(11);
  });

  it.each(listeners.map(([, program = "", setting = "", port = ""]) => ({ program, setting, port })))(
    "$program $setting is $port by default",
    ({ program, setting, port }) => {
      const defaults = program === "weir-ratelimit" ? pods : settings;
      expect(defaults.get(`${program} ${setting}`)?.split(":").at(-1) ?? "0").toBe(port);
    },
  );
});

describe("the ports of the charts", () => {
  it("are those of the listeners of docs/security.md, without the one that a mesh must not know", () => {
    const listeners = [...readPage(ROOT, "docs/security.md").matchAll(LISTENER)].flatMap(
      ([, program = "", setting, port = "", inCharts = port]) =>
        program === "weir-ratelimit" || setting === "CONSOLE_PORT" ? [] : [`${program} ${inCharts}`],
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
