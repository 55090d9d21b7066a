// The program behind `make bench-control-plane`: measures speed and memory of the control plane, and
// prints each figure with its bar. docs/benchmarks.md has its results.
import { makeCertificates } from "@weir/harness/weir/replica";
import { atMost, type Figure, type Measure, runMeasures } from "../run-measures.ts";
import { percentile } from "../summary.ts";
import {
  type ControlPlaneBench,
  measureBurst,
  measureChoices,
  measureColdStart,
  type Measured,
  measureEdits,
  measureIncrementalEdits,
  measureKilledReplica,
  measureLargePush,
  measureReconnect,
} from "./measures.ts";
import { measureScale } from "./scale.ts";

/** The upper bounds of the figure of a measure and of the memory. */
interface Bars {
  /** By default milliseconds. */
  readonly unit?: "pushes" | "bytes";
  /** The figure that is compared with the bar; by default the largest sample. */
  readonly figure?: "p99";
  readonly bar: number;
  /** Bar of the largest resident memory, in MiB; undefined: it is only printed. */
  readonly memoryMib?: number;
}

const P99_1S: Bars = { figure: "p99", bar: 1000 };

const MEASURES: readonly Measure<ControlPlaneBench>[] = [
  measure("edit", "1 edit of 500 resources → accepted by 100 pods", P99_1S, (bench) =>
    measureEdits(bench, { place: "folder" }),
  ),
  measure("edit-nacks", "the same, while 10 of the pods NACKed 3 resources each", { ...P99_1S, bar: 250 }, (bench) =>
    measureEdits(bench, { place: "folder", nacks: { pods: 10, resources: 3 } }),
  ),
  measure(
    "edit-delta",
    "1 edit of 1,205 resources → accepted by 100 incremental pods",
    { figure: "p99", bar: 80 },
    (bench) => measureIncrementalEdits(bench, { place: "folder", what: "time" }),
  ),
  measure("edit-delta-bytes", "the same, bytes to a pod besides the resource", { unit: "bytes", bar: 512 }, (bench) =>
    measureIncrementalEdits(bench, { place: "folder", what: "bytes" }),
  ),
  measure(
    "reconnect-delta",
    "1,000 incremental pods reconnect with 1,205 resources unchanged, bytes to a pod",
    { unit: "bytes", bar: 200 },
    (bench) => measureReconnect(bench, "bytes to pod"),
  ),
  measure("reconnect-delta-sent", "the same, bytes from a pod per resource", { unit: "bytes", bar: 100 }, (bench) =>
    measureReconnect(bench, "bytes to server"),
  ),
  measure("reconnect-delta-time", "the same, replica killed → all current", { bar: 5000 }, (bench) =>
    measureReconnect(bench, "time"),
  ),
  scaleMeasure("scale-delta", { place: "folder", isIncremental: true }),
  scaleMeasure("scale", { place: "folder", isIncremental: false }),
  measure(
    "choices",
    "1 edit of 2 MiB → accepted by 50 pods with 50 different choices",
    { ...P99_1S, memoryMib: 512 },
    measureChoices,
  ),
  measure("cold", "start with 5,000 resources → first snapshot", { bar: 5000 }, (bench) =>
    measureColdStart(bench, { place: "folder" }),
  ),
  measure("push", "2 MiB to 1,000 streams, plaintext", { bar: 4000, memoryMib: 512 }, (bench) =>
    measureLargePush(bench, { isTls: false, isWide: false }),
  ),
  measure("push-tls", "2 MiB to 1,000 streams, mutual TLS", { bar: 8000, memoryMib: 1024 }, (bench) =>
    measureLargePush(bench, { isTls: true, isWide: false }),
  ),
  measure("push-tls-wide", "the same, pods with windows of 16 MiB", { bar: 8000, memoryMib: 1024 }, (bench) =>
    measureLargePush(bench, { isTls: true, isWide: true }),
  ),
  measure("burst", "1,000 edits in one burst", { unit: "pushes", bar: 20 }, (bench) =>
    measureBurst(bench, { overMs: 0 }),
  ),
  measure("burst-slow", "1,000 edits within 10 s", { unit: "pushes", bar: 20 }, (bench) =>
    measureBurst(bench, { overMs: 10_000 }),
  ),
  measure(
    "kill",
    "replica killed → 100 pods served by another, beyond their back-off",
    { bar: 1000 },
    measureKilledReplica,
  ),
  // Last, because they need servers that may have to be built.
  measure("edit-cluster", "1 edit of 500 resources in a cluster → accepted by 100 pods", P99_1S, (bench) =>
    measureEdits(bench, { place: "cluster" }),
  ),
  measure(
    "edit-delta-cluster",
    "1 edit of 1,205 resources in a cluster → accepted by 100 incremental pods",
    { figure: "p99", bar: 80 },
    (bench) => measureIncrementalEdits(bench, { place: "cluster", what: "time" }),
  ),
  scaleMeasure("scale-delta-cluster", { place: "cluster", isIncremental: true }),
  scaleMeasure("scale-cluster", { place: "cluster", isIncremental: false }),
  measure("cold-cluster", "start with 5,000 resources in a cluster → first snapshot", { bar: 5000 }, (bench) =>
    measureColdStart(bench, { place: "cluster" }),
  ),
];

runMeasures<ControlPlaneBench>({
  name: "make bench-control-plane",
  summary: "Measures how fast the control plane brings changes to pods, and what memory it takes.",
  workspace: "control-plane",
  measures: MEASURES,
  begin: async (bench) => {
    const certificates = await makeCertificates(bench.folder);
    return (_, root) => Promise.resolve({ ...bench, certificates, root });
  },
});

/** A measure with the figures that its samples give. */
function measure(
  id: string,
  title: string,
  bars: Bars,
  run: (bench: ControlPlaneBench) => Promise<Measured>,
): Measure<ControlPlaneBench> {
  return {
    id,
    run: async (bench) => {
      const measured = await run(bench);
      await bench.stopAll();
      return figuresOf(title, bars, measured);
    },
  };
}

/** Edits at scale; the bars of times and bytes are those of the incremental variant. */
function scaleMeasure(id: string, options: Parameters<typeof measureScale>[1]): Measure<ControlPlaneBench> {
  const { place, isIncremental } = options;
  const where = `${place === "cluster" ? " in a cluster" : ""}, 1,000${isIncremental ? " incremental" : ""} pods`;
  return {
    id,
    run: async (bench) => {
      const measured = await measureScale(bench, options);
      const { editMs, extraBytes, coreShare, burstMs, peakMemoryMib, reportMemoryMib } = measured;
      await bench.stopAll();
      const time = (what: string, values: readonly number[], share: number): Figure => {
        return { what, value: percentile(values, share), unit: "ms" };
      };
      return [
        {
          ...time(`an edit a second of 20,000 resources${where}, p99`, editMs, 0.99),
          ...(isIncremental && { bar: atMost(600) }),
        },
        time("the same, p50", editMs, 0.5),
        ...(isIncremental
          ? [
              {
                what: "the same, bytes besides the resource",
                bar: atMost(512),
                value: Math.max(...extraBytes),
                unit: "bytes",
              },
            ]
          : []),
        { what: "the same, share of a core", bar: atMost(30), value: 100 * coreShare, unit: "%", isCost: true },
        { what: "the same, peak RSS", bar: atMost(768), value: peakMemoryMib, unit: "MiB" },
        { what: "the same with a report of the rollout", value: reportMemoryMib, unit: "MiB" },
        time("bursts of 200 edits → all ACKed, p50", burstMs, 0.5),
        time("the same, max", burstMs, 1),
      ];
    },
  };
}

function figuresOf(title: string, bars: Bars, { samples, peakMemoryMib, cpuSeconds }: Measured): readonly Figure[] {
  const { unit = "ms", figure = "max", bar, memoryMib } = bars;
  const sorted = samples.toSorted((a, b) => a - b);
  const at = { p50: 0.5, p99: 0.99, max: 1 };
  const names = new Set<keyof typeof at>([figure, "p50", "p99", "max"]);
  return [
    ...[...names].map((name, index) => ({
      what: `${index === 0 ? title : "the same"}, ${name}`,
      ...(index === 0 && { bar: atMost(bar) }),
      value: sorted[Math.max(0, Math.ceil(sorted.length * at[name]) - 1)] ?? NaN,
      unit,
    })),
    { what: "the same, CPU", value: cpuSeconds, unit: "s", isCost: true },
    {
      what: "the same, peak RSS",
      ...(memoryMib !== undefined && { bar: atMost(memoryMib) }),
      value: peakMemoryMib,
      unit: "MiB",
    },
  ];
}
