// Writes docs/limits.svg: what each way to count lets pass of the same requests around the edge of a window, played
// by the code of `weir simulate`. Run with --conditions=source; --check compares only.
import { pathToFileURL } from "node:url";
import { emitText } from "./generated-page.ts";

/** The modules that play the requests. */
const MODULES = [
  "limits/src/rules/compile.ts",
  "cli/src/simulate/simulate.ts",
  "cli/src/simulate/simulated-limit.ts",
] as const;

/** The exports of those files that are used here. */
interface Simulator {
  readonly compileRules: (configs: readonly object[], attach: object) => { domain(name: string): { rules: unknown[] } };
  readonly simulate: (load: object, passes: (nowMs: number) => boolean) => { passedMs: readonly number[] };
  readonly mostWithin: (passedMs: readonly number[], spanMs: number) => number;
  readonly counterOf: (rule: unknown, hits: number) => (nowMs: number) => boolean;
}

/** The limits, each of 100 requests per minute. */
const LIMITS = [
  { title: "fixed_window", color: "#dc2626", fields: {} },
  { title: "token_bucket", color: "#15803d", fields: { algorithm: "token_bucket" } },
  { title: "sliding_window", color: "#2563eb", fields: { algorithm: "sliding_window" } },
  { title: "token_bucket, burst 20", color: "#9333ea", fields: { algorithm: "token_bucket", burst: 20 } },
] as const;

/** Lengths of the spans whose most requests are named. */
const [SHORT_MS, WINDOW_MS] = [15_000, 60_000];

/** Requests begin ten seconds before the edge. */
const [BEFORE_EDGE_MS, DURATION_MS] = [10_000, 60_000];

const LOAD = {
  startMs: Date.parse("2026-01-01T00:01:00Z") - BEFORE_EDGE_MS,
  durationMs: DURATION_MS,
  burst: 0,
  rate: { count: 20, unit: "SECOND" },
  hits: 1,
};

const [WIDTH, HEIGHT] = [1000, 440];
const [LEFT, RIGHT, TOP, BOTTOM] = [70, 720, 70, 380];

const LEGEND_HEIGHT = 56;

/** The largest number of the vertical axis. */
const MOST = 220;

const STYLE = `
      text { fill: #0f172a }
      .title { font-size: 19px; font-weight: 600 }
      .small { font-size: 12.5px; fill: #475569 }
      .end { text-anchor: end }
      .middle { text-anchor: middle }
      .axis { stroke: #cbd5e1; fill: none }
      .edge { stroke: #64748b; stroke-dasharray: 5 4 }
      .line { fill: none; stroke-width: 2.5 }
    `;

const modules = MODULES.map(async (path) => (await import(pathToFileURL(path).href)) as Partial<Simulator>);
const [compiler, player, limits] = await Promise.all(modules);
emitText("docs/limits.svg", plotLimits({ ...compiler, ...player, ...limits } as Simulator));

/** The picture as SVG. */
function plotLimits(simulator: Simulator): string {
  const lines = LIMITS.map(({ title, color, fields }) => {
    const passedMs = play(simulator, fields);
    const most = `${simulator.mostWithin(passedMs, SHORT_MS)} in 15 s, ${simulator.mostWithin(passedMs, WINDOW_MS)} in a minute`;
    return { title, color, passedMs, most };
  });
  const words = lines.map(({ title, most }) => `${title}: at most ${most}.`).join(" ");
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" width="${WIDTH}" height="${HEIGHT}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="15" role="img" aria-labelledby="title description">
  <title id="title">Requests that pass around the edge of a window</title>
  <desc id="description">20 requests per second from ten seconds before the edge on, against 100 per minute. ${words}</desc>
  <defs>
    <style>${STYLE}</style>
  </defs>
  <rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>
  <text class="title" x="24" y="38">Requests that have passed, of 20 per second against 100 per minute</text>
${drawAxes()}
${lines.map(drawLine).join("\n")}
</svg>
`;
}

function play({ compileRules, simulate, counterOf }: Simulator, fields: object): readonly number[] {
  const rateLimit = { unit: "minute", requestsPerUnit: 100, unlimited: false, name: "", replaces: [], ...fields };
  const descriptor = { key: "k", value: "", rateLimit, descriptors: [] };
  const attach = { rule: (path: string) => path, dynamic: (path: string) => path };
  const [rule] = compileRules([{ name: "plot", domain: "plot", descriptors: [descriptor] }], attach).domain(
    "plot",
  ).rules;
  return simulate(LOAD, counterOf(rule, LOAD.hits)).passedMs;
}

function drawAxes(): string {
  const numbers = [0, 50, 100, 150, 200].flatMap((number) => [
    `  <path class="axis" d="M${LEFT} ${y(number)}H${RIGHT}"/>`,
    `  <text class="small end" x="${LEFT - 8}" y="${Number(y(number)) + 4}">${number}</text>`,
  ]);
  const times = [-10, 0, 10, 20, 30, 40, 50].map(
    (seconds) =>
      `  <text class="small middle" x="${x(BEFORE_EDGE_MS + seconds * 1000)}" y="${BOTTOM + 20}">${seconds} s</text>`,
  );
  const edge = x(BEFORE_EDGE_MS);
  return [
    ...numbers,
    ...times,
    `  <path class="edge" d="M${edge} ${TOP - 10}V${BOTTOM}"/>`,
    `  <text class="small" x="${Number(edge) + 6}" y="${TOP}">a window ends</text>`,
    `  <text class="small middle" x="${(LEFT + RIGHT) / 2}" y="${BOTTOM + 44}">Time from the edge of the window</text>`,
  ].join("\n");
}

function drawLine(
  line: {
    readonly title: string;
    readonly color: string;
    readonly passedMs: readonly number[];
    readonly most: string;
  },
  index: number,
): string {
  const { title, color, passedMs, most } = line;
  const steps = passedMs.map((atMs, before) => `H${x(atMs)}V${y(before + 1)}`).join("");
  const top = TOP + 20 + index * LEGEND_HEIGHT;
  return [
    `  <path class="line" stroke="${color}" d="M${x(0)} ${y(0)}${steps}H${x(DURATION_MS)}"/>`,
    `  <rect x="${RIGHT + 24}" y="${top - 12}" width="14" height="14" fill="${color}"/>`,
    `  <text x="${RIGHT + 46}" y="${top}">${title}</text>`,
    `  <text class="small" x="${RIGHT + 46}" y="${top + 19}">${most}</text>`,
  ].join("\n");
}

function x(ms: number): string {
  return (LEFT + (ms / DURATION_MS) * (RIGHT - LEFT)).toFixed(1);
}

function y(number: number): string {
  return (BOTTOM - (number / MOST) * (BOTTOM - TOP)).toFixed(1);
}
