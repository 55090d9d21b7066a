// The results of a run as a picture: decisions per second of one core over Redis, Weir next to
// envoyproxy/ratelimit, and the time of a call at a fixed rate.
import { type BenchResults, figureOf, findRow, isMeasurable, ratioOf, type Sample } from "./results.ts";

/** The loads of the picture in its order: group, load, title and detail. */
const RATES = [
  ["redis", "8x64", "busy proxies, 100,000 keys", "8 connections × 64 calls in flight"],
  ["redis", "8x64-hot", "busy proxies, one hot key", "8 connections × 64"],
  ["redis", "16x1", "quiet proxies", "16 connections × 1"],
  ["redis", "256x1", "many quiet proxies", "256 connections × 1"],
  ["over-limit", "8x64", "over the limit, local cache", "8 connections × 64"],
  ["tls", "8x64", "gRPC over TLS", "8 connections × 64"],
] as const;

const TIMES = [["redis", "open-5k", "Redis", "5,000 calls a second, p99"]] as const;

const WIDTH = 1000;
const LABEL_WIDTH = 300;
const BAR_WIDTH = 540;
const ROW_HEIGHT = 62;

const STYLE = `
      text { fill: #0f172a }
      .title { font-size: 19px; font-weight: 600 }
      .name { font-weight: 600; text-anchor: end }
      .small { font-size: 12.5px; fill: #475569 }
      .end { text-anchor: end }
      .weir { fill: #2563eb }
      .other { fill: #94a3b8 }
      .ratio { font-weight: 600; fill: #2563eb }
    `;

/** The picture as SVG. */
export function plotResults(results: BenchResults): string {
  const rates = panel(results, RATES, {
    read: ({ perSecond }) => perSecond,
    print: (value) => `${(value / 1000).toFixed(value < 20_000 ? 1 : 0)} k`,
    compare: (ratio) => `${formatFactor(ratio)} ×`,
  });
  const times = panel(results, TIMES, {
    read: ({ p99Micros }) => p99Micros,
    print: (value) => `${(value / 1000).toFixed(value < 10_000 ? 2 : 0)} ms`,
    compare: (ratio) => `${formatFactor(1 / ratio)} × shorter`,
  });
  const ratesTop = 96;
  const timesTop = ratesTop + rates.height + 76;
  const height = timesTop + times.height + 50;
  const versions = `Commit ${results.commit}, ${results.date}; ${results.machine[0]?.split("; load")[0] ?? ""}`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="15" role="img" aria-labelledby="title description">
  <title id="title">Decisions per second of one core: Weir and envoyproxy/ratelimit</title>
  <desc id="description">${escape([...rates.words, ...times.words].join(" "))}</desc>
  <defs>
    <style>${STYLE}</style>
  </defs>
  <rect width="${WIDTH}" height="${height}" fill="#fff"/>
  <text class="title" x="24" y="38">Decisions per second of one core, over Redis (longer is better)</text>
  <rect class="weir" x="24" y="54" width="14" height="14"/><text class="small" x="44" y="66">Weir</text>
  <rect class="other" x="90" y="54" width="14" height="14"/><text class="small" x="110" y="66">envoyproxy/ratelimit</text>
${rates.draw(ratesTop)}
  <text class="title" x="24" y="${timesTop - 24}">Time of a call (shorter is better)</text>
${times.draw(timesTop)}
  <text class="small" x="24" y="${height - 18}">${escape(versions)}</text>
</svg>
`;
}

/** Reads and formats the figures of a panel. */
interface Figures {
  readonly read: (sample: Sample) => number;
  readonly print: (value: number) => string;
  /** Words for the ratio of Weir's figure to the other. */
  readonly compare: (ratio: number) => string;
}

interface Panel {
  readonly height: number;
  /** The picture in words, for those who do not see it. */
  readonly words: readonly string[];
  draw(top: number): string;
}

function panel(
  results: BenchResults,
  loads: readonly (readonly [group: string, load: string, title: string, detail: string])[],
  { read, print, compare }: Figures,
): Panel {
  const pairs = loads.flatMap(([group, load, title, detail]) => {
    const weir = findRow(results, group, load, "weir");
    const other = findRow(results, group, load, "envoyproxy/ratelimit");
    if (weir === undefined || other === undefined) return [];
    const [ours = 0, theirs = 0] = [weir, other].map((row) => figureOf(row, read)?.median ?? 0);
    const isCounted = [weir, other].every((row) => isMeasurable(results, row));
    const ratio = ratioOf(weir, other, read)?.median ?? ours / theirs;
    const comparison = isCounted ? compare(ratio) : "not measurable here"; // The words of the table.
    return [{ title, detail, ours, theirs, comparison }];
  });
  const most = Math.max(1, ...pairs.flatMap(({ ours, theirs }) => [ours, theirs]));
  const words = pairs.map(
    ({ title, ours, theirs }) => `${title}: Weir ${print(ours)}, envoyproxy/ratelimit ${print(theirs)}.`,
  );
  const draw = (top: number): string =>
    pairs.map((pair, index) => drawPair({ ...pair, most, print, top: top + index * ROW_HEIGHT })).join("\n");
  return { height: pairs.length * ROW_HEIGHT, words, draw };
}

function drawPair(pair: {
  readonly title: string;
  readonly detail: string;
  readonly ours: number;
  readonly theirs: number;
  readonly comparison: string;
  /** The value whose bar has the whole width. */
  readonly most: number;
  readonly print: (value: number) => string;
  readonly top: number;
}): string {
  const { title, detail, ours, theirs, comparison, most, print, top } = pair;
  const width = (value: number): number => (value / most) * BAR_WIDTH;
  const after = (value: number): string => (LABEL_WIDTH + width(value) + 8).toFixed(1);
  return [
    `  <text class="name" x="${LABEL_WIDTH - 12}" y="${top + 18}">${escape(title)}</text>`,
    `  <text class="small end" x="${LABEL_WIDTH - 12}" y="${top + 36}">${escape(detail)}</text>`,
    `  <rect class="weir" x="${LABEL_WIDTH}" y="${top + 2}" width="${width(ours).toFixed(1)}" height="20" rx="2"/>`,
    `  <text x="${after(ours)}" y="${top + 17}">${print(ours)} <tspan class="ratio">${comparison}</tspan></text>`,
    `  <rect class="other" x="${LABEL_WIDTH}" y="${top + 26}" width="${width(theirs).toFixed(1)}" height="14" rx="2"/>`,
    `  <text class="small" x="${after(theirs)}" y="${top + 38}">${print(theirs)}</text>`,
  ].join("\n");
}

function formatFactor(factor: number): string {
  return factor.toFixed(factor < 10 ? 1 : 0);
}

function escape(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
