// The program behind `make bench-control-plane`: measures speed and memory of the control plane, and
// prints each figure with its bar. docs/benchmarks.md has its results.
import { join } from "node:path";

import { runProgram } from "@weir/common/lifecycle/program";
import { ensureCertificates } from "@weir/dev/setup/certificates";
import { STACK_HOST } from "@weir/dev/setup/ports";
import {
  type Bench,
  type Measured,
  measureBurst,
  measureChoices,
  measureColdStart,
  measureEdits,
  measureKilledReplica,
  measureLargePush,
} from "./measures.ts";
import { chooseMeasures, runMeasures, usageOf } from "../run-measures.ts";

/** One figure with its bar. */
interface Measure {
  /** Names it on the command line. */
  readonly id: string;
  readonly title: string;
  /** By default milliseconds. */
  readonly unit?: "pushes";
  /** The figure that is compared with the bar; by default the largest sample. */
  readonly figure?: "p99";
  readonly bar: number;
  /** Bar of the largest resident memory, in MiB; undefined: it is only printed. */
  readonly memoryBarMib?: number;
  readonly run: (bench: Bench) => Promise<Measured>;
}

const MEASURES: readonly Measure[] = [
  {
    id: "edit",
    title: "1 edit of 500 resources → accepted by 100 pods",
    figure: "p99",
    bar: 1000,
    run: (bench) => measureEdits(bench, { place: "folder" }),
  },
  {
    id: "edit-nacks",
    title: "the same, while 10 of the pods NACKed 3 resources each",
    figure: "p99",
    bar: 250,
    run: (bench) => measureEdits(bench, { place: "folder", nacks: { pods: 10, resources: 3 } }),
  },
  {
    id: "choices",
    title: "1 edit of 2 MiB → accepted by 50 pods with 50 different choices",
    figure: "p99",
    bar: 1000,
    memoryBarMib: 512,
    run: measureChoices,
  },
  {
    id: "cold",
    title: "start with 5,000 resources → first snapshot",
    bar: 5000,
    run: (bench) => measureColdStart(bench, { place: "folder" }),
  },
  {
    id: "push",
    title: "2 MiB to 1,000 streams, plaintext",
    bar: 4000,
    memoryBarMib: 512,
    run: (bench) => measureLargePush(bench, { isTls: false, isWide: false }),
  },
  {
    id: "push-tls",
    title: "2 MiB to 1,000 streams, mutual TLS",
    bar: 8000,
    memoryBarMib: 1024,
    run: (bench) => measureLargePush(bench, { isTls: true, isWide: false }),
  },
  {
    id: "push-tls-wide",
    title: "the same, pods with windows of 16 MiB",
    bar: 8000,
    memoryBarMib: 1024,
    run: (bench) => measureLargePush(bench, { isTls: true, isWide: true }),
  },
  {
    id: "burst",
    title: "1,000 edits in one burst",
    unit: "pushes",
    bar: 20,
    run: (bench) => measureBurst(bench, { overMs: 0 }),
  },
  {
    id: "burst-slow",
    title: "1,000 edits within 10 s",
    unit: "pushes",
    bar: 20,
    run: (bench) => measureBurst(bench, { overMs: 10_000 }),
  },
  {
    id: "kill",
    title: "replica killed → 100 pods served by another, beyond their back-off",
    bar: 1000,
    run: measureKilledReplica,
  },
  // Last, because they need servers that may have to be built.
  {
    id: "edit-cluster",
    title: "1 edit of 500 resources in a cluster → accepted by 100 pods",
    figure: "p99",
    bar: 1000,
    run: (bench) => measureEdits(bench, { place: "cluster" }),
  },
  {
    id: "cold-cluster",
    title: "start with 5,000 resources in a cluster → first snapshot",
    bar: 5000,
    run: (bench) => measureColdStart(bench, { place: "cluster" }),
  },
];

runProgram(
  {
    name: "make bench-control-plane",
    summary: "Measures how fast the control plane brings changes to pods, and what memory it takes.",
    usage: usageOf(MEASURES),
  },
  (context) =>
    runMeasures(context, {
      measures: chooseMeasures(MEASURES, context.args),
      header: ["Measure", "Bar", "p50", "p99", "max", "CPU", "Peak RSS", "Result"],
      begin: async ({ folder, onStarted, stopAll }) => {
        const certificates = await ensureCertificates(join(folder, "certificates"), {
          hostNames: ["localhost", STACK_HOST],
          now: new Date(),
        });
        return async (measure) => {
          const measured = await measure.run({ folder, certificates, onStarted });
          await stopAll();
          return [describeMeasured(measure, measured)];
        };
      },
    }),
);

function describeMeasured(measure: Measure, { samples, peakMemoryMib, cpuSeconds }: Measured): readonly string[] {
  const sorted = samples.toSorted((a, b) => a - b);
  const figures = { p50: percentile(sorted, 0.5), p99: percentile(sorted, 0.99), max: percentile(sorted, 1) };
  const { unit = "ms", figure = "max", memoryBarMib } = measure;
  const text = (value: number): string => `${Math.round(value)} ${unit}`;
  const isMet = figures[figure] <= measure.bar && (memoryBarMib === undefined || peakMemoryMib <= memoryBarMib);
  const bar = `${figure} ≤ ${text(measure.bar)}${memoryBarMib === undefined ? "" : `, ≤ ${memoryBarMib} MiB`}`;
  return [
    measure.title,
    bar,
    text(figures.p50),
    text(figures.p99),
    text(figures.max),
    `${cpuSeconds.toFixed(1)} s`,
    `${Math.round(peakMemoryMib)} MiB`,
    isMet ? "PASS" : "MISS",
  ];
}

/** The smallest value that so many of the sorted values do not exceed. */
function percentile(sorted: readonly number[], share: number): number {
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new RangeError("Cannot summarise a benchmark without samples");
  return value;
}
