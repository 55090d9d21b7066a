// Reads docs/recipes.md: of each recipe its manifest, the Envoy configuration and the table of requests.
import { parse, parseAllDocuments } from "yaml";
import { textsOf } from "./code-blocks.ts";

/** One row of a recipe's table. */
export interface RecipeRow {
  /** The cell of the request, as the page shows it. */
  readonly request: string;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent after the window of the row before has ended. */
  readonly isInNextSecond: boolean;
  /** Sent while no pod answers. */
  readonly isWithoutPods: boolean;
  /** The expected status codes, in their order. */
  readonly statuses: readonly number[];
  /** A header that the last response must have, as name and value. */
  readonly lastHeader: readonly [string, string] | undefined;
}

/** One recipe of the page. */
export interface Recipe {
  readonly title: string;
  /** File name below examples/recipes, which the recipe links to. */
  readonly file: string;
  /** The text of the manifest. */
  readonly manifest: string;
  /** The domain of its first resource: that of the rate limit filter. */
  readonly domain: string;
  /** Length of the shortest window of its rules, in seconds. */
  readonly windowSeconds: number;
  /** Fields of a virtual host. */
  readonly virtualHost: Readonly<Record<string, unknown>>;
  /** HTTP filters with `name` and `typed_config`. */
  readonly filters: readonly HttpFilter[];
  readonly rows: readonly RecipeRow[];
}

/** A filter of Envoy's HTTP connection manager. */
export interface HttpFilter {
  readonly name: string;
  readonly typed_config: Readonly<Record<string, unknown>>;
}

/** Seconds in the shorter units; windows of the longer ones do not end during a test, or it is repeated. */
const UNIT_SECONDS = { second: 1, minute: 60, hour: 3600, day: 86_400, week: 604_800, month: 2_592_000 } as const;

/** Parses the page. Throws when a recipe lacks a part. */
export function readRecipes(page: string): readonly Recipe[] {
  return page
    .split(/^## /m)
    .slice(1)
    .map((section) => readRecipe(section));
}

function readRecipe(section: string): Recipe {
  const [title = ""] = section.split("\n", 1);
  const file = /\(\.\.\/examples\/recipes\/([a-z-]+\.yaml)\)/.exec(section)?.[1];
  const [manifest, ...fragments] = textsOf("yaml", "docs/recipes.md", section);
  if (file === undefined || manifest === undefined) throw new Error(`${title}: no manifest, or no link to its file`);
  const documents = parseAllDocuments(manifest).map((document) => document.toJS() as { spec: { domain: string } });
  const parsed = fragments.map((fragment) => parse(fragment) as Record<string, unknown>);
  const virtualHost = parsed.find((fragment) => !("typed_config" in fragment));
  const [, table = ""] = section.split(/^\| Request .*\n\|[-| ]+\n/m);
  const rows = [...table.matchAll(/^\| (.*) \|$/gm)].map(([, row = ""]) => readRow(row));
  if (virtualHost === undefined || rows.length === 0) throw new Error(`${title}: no Envoy configuration, or no table`);
  return {
    title,
    file,
    manifest: `${manifest}\n`,
    domain: documents[0]!.spec.domain,
    windowSeconds: shortestWindowSeconds(manifest),
    virtualHost,
    filters: parsed.filter((fragment) => "typed_config" in fragment) as unknown as readonly HttpFilter[],
    rows,
  };
}

function readRow(row: string): RecipeRow {
  const [request = "", answers = "", last = ""] = row.split(" | ").map((cell) => cell.trim());
  const [call = "", ...headers] = [...request.matchAll(/`([^`]+)`/g)].map(([, code = ""]) => code);
  const [method = "", path = ""] = call.split(" ");
  if (!/^\d+ × \d{3}/.test(answers)) throw new Error(`Cannot read the answers of "${request}": ${answers}`);
  const [, name, value] = /^`([^:]+): ([^`]+)`$/.exec(last) ?? [];
  return {
    request,
    method,
    path,
    headers: Object.fromEntries(headers.map((header) => header.split(": ", 2) as [string, string])),
    isInNextSecond: request.includes("in the next second"),
    isWithoutPods: request.includes("while no pod answers"),
    statuses: [...answers.matchAll(/(\d+) × (\d{3})/g)].flatMap(([, count, status]) =>
      Array.from({ length: Number(count) }, () => Number(status)),
    ),
    lastHeader: name === undefined || value === undefined ? undefined : [name, value],
  };
}

function shortestWindowSeconds(manifest: string): number {
  const units = [...manifest.matchAll(/unit: (\w+)/g)].map(([, unit]) => unit);
  return Math.min(...Object.entries(UNIT_SECONDS).flatMap(([unit, size]) => (units.includes(unit) ? [size] : [])));
}
