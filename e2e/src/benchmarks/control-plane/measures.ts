// The measures of the control plane. Each starts what it needs, measures, and checks that every pod
// has the same version in the end.
import { setTimeout as delay } from "node:timers/promises";

import { E2eError } from "../../errors.ts";
import { eventually } from "@weir/harness/processes/eventually";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { anyPorts } from "@weir/harness/processes/programs";
import { reservePort } from "@weir/harness/processes/reserve-ports";
import { type Replica, type Rollout, startReplica } from "@weir/harness/weir/replica";
import { cpuTimeMs, peakMebibytes } from "../cpu-time.ts";
import type { Bench } from "../run-benchmark.ts";
import { type Fleet, type FleetOptions, startFleet } from "./fleet.ts";
import type { PodsAnswer } from "./pods.ts";
import { makeClusterSet, makeFolderSet, type ResourceSet, type SetSize } from "./sets.ts";

const USUAL_SET: SetSize = { resources: 500, longRules: 0 };

const INCREMENTAL_SET: SetSize = { resources: 1205, longRules: 0 };

/** About as many resources, and a snapshot of a little over 2 MiB. */
const LARGE_SET: SetSize = { resources: 510, longRules: 4 };
const LARGE_SNAPSHOT_BYTES = 2 * 1024 * 1024;

const HUGE_SET: SetSize = { resources: 5000, longRules: 0 };

/** How many edits of one resource are measured, one after the other. */
const EDITS = 30;

/** Time between two edits, in milliseconds: longer than the debounce, so that no two are merged. */
const EDIT_PAUSE_MS = 150;

/** The first resource that is edited: those before it may be NACKed. */
const FIRST_EDITED = 100;

const BURST_EDITS = 1000;

/** Time without a push that ends a burst, in milliseconds: twice the longest debounce. */
const BURST_QUIET_MS = 2000;

/** Windows of pods, in bytes: the initial one of HTTP/2, and one for the whole largest snapshot. */
const WINDOW_BYTES = { usual: 65_535, wide: 16 * 1024 * 1024 } as const;

/**
 * Back-off of pods that lose their stream, in milliseconds; that of a start is short, so that it
 * measures the control plane.
 */
const BACKOFF_MS = { start: [20, 20], lost: [250, 1000] } as const;

/** The settings of a control plane without TLS. */
const PLAINTEXT = {
  ADS_PLAINTEXT: "true",
  ADS_TLS_CERT: "",
  ADS_TLS_KEY: "",
  ADS_TLS_CLIENT_CACERT: "",
  ADS_ALLOWED_SANS: "",
} as const;

/** The parts of the program that a measure needs. */
export interface ControlPlaneBench extends Bench {
  readonly certificates: DevelopmentCertificates;
  /** Root of the checkout whose control plane is measured. */
  readonly root: string;
}

/** The source from which the control plane reads the resources of a measure. */
export type Place = "folder" | "cluster";

export interface Measured {
  /** Samples in milliseconds, or numbers of pushes. */
  readonly samples: readonly number[];
  readonly peakMemoryMib: number;
  /**
   * Processor time that the control plane took from its start to the end, in seconds: what is left
   * of a figure when the machine is busy.
   */
  readonly cpuSeconds: number;
}

/** Pods that NACK resources, and of how many each. */
export type Nacks = NonNullable<FleetOptions["nacks"]>;

/** Time from one edit in a set of 500 resources to its acceptance by each of 100 pods. */
export async function measureEdits(
  bench: ControlPlaneBench,
  options: { readonly place: Place; readonly nacks?: Nacks },
): Promise<Measured> {
  const { resources, controlPlane, fleet } = await start(bench, { ...options, set: USUAL_SET, pods: 100, isTls: true });
  const samples = await timeEdits(resources, fleet);
  return finish(controlPlane, fleet, samples, options);
}

/** Measures the cost of an edit in a set of 1,205 resources for each of 100 incremental pods. */
export async function measureIncrementalEdits(
  bench: ControlPlaneBench,
  { place, what }: { readonly place: Place; readonly what: "time" | "bytes" },
): Promise<Measured> {
  const setup = { place, set: INCREMENTAL_SET, pods: 100, isTls: true, isIncremental: true };
  const { resources, controlPlane, fleet } = await start(bench, setup);
  const samples = await timeEdits(resources, fleet, what);
  return finish(controlPlane, fleet, samples);
}

/** Until 1,000 incremental pods are current at another replica, where nothing changed, or bytes of its first messages. */
export async function measureReconnect(
  bench: ControlPlaneBench,
  what: "time" | "bytes to pod" | "bytes to server",
): Promise<Measured> {
  const otherPort = await reservePort();
  const setup = { set: INCREMENTAL_SET, pods: 1000, isTls: true, isIncremental: true, otherPort };
  const { resources, controlPlane, fleet } = await start(bench, setup);
  const second = await launch(bench, resources, { isTls: true, adsPort: otherPort });
  const killedMs = Date.now();
  controlPlane.process.kill();
  const { arrivals } = await fleet.awaitResponse(2);
  const samples = arrivals.map(({ atMs, sizeBytes, sentBytes = NaN, held = NaN }) => {
    if (what === "time") return atMs - killedMs;
    return what === "bytes to pod" ? sizeBytes : sentBytes / held;
  });
  return finish(second, fleet, samples);
}

/** Memory for edits of a set of 2 MiB while each of 50 pods lacks another resource because of a NACK. */
export async function measureChoices(bench: ControlPlaneBench): Promise<Measured> {
  const nacks = { pods: 50, resources: 1 };
  const { resources, controlPlane, fleet } = await start(bench, { set: LARGE_SET, pods: 50, isTls: true, nacks });
  const samples = await timeEdits(resources, fleet);
  return finish(controlPlane, fleet, samples, { nacks });
}

/** The time of each edit until each pod has ACKed it, or the bytes of its response besides the resource. */
async function timeEdits(
  resources: ResourceSet,
  fleet: Fleet,
  what: "time" | "bytes" = "time",
): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let edit = 1; edit <= EDITS; edit++) {
    await delay(EDIT_PAUSE_MS);
    const editedMs = Date.now();
    await resources.write(FIRST_EDITED + edit, 1 + edit);
    const { arrivals } = await fleet.awaitResponse(edit + 1);
    samples.push(...arrivals.map(({ atMs, extraBytes = NaN }) => (what === "time" ? atMs - editedMs : extraBytes)));
  }
  return samples;
}

/** Time from the start of the process over 5,000 resources to the first snapshot that a pod has. */
export async function measureColdStart(
  bench: ControlPlaneBench,
  options: { readonly place: Place },
): Promise<Measured> {
  const { controlPlane, fleet, startedMs } = await start(bench, { ...options, set: HUGE_SET, pods: 1, isTls: true });
  const { arrivals } = await fleet.awaitResponse(1);
  const samples = arrivals.map(({ atMs }) => atMs - startedMs);
  return finish(controlPlane, fleet, samples);
}

/**
 * Time from one edit in a set of 2 MiB to the moment at which each of 1,000 streams has all of it.
 */
export async function measureLargePush(
  bench: ControlPlaneBench,
  options: { readonly isTls: boolean; readonly isWide: boolean },
): Promise<Measured> {
  const { resources, controlPlane, fleet } = await start(bench, { set: LARGE_SET, pods: 1000, ...options });
  const editedMs = Date.now();
  await resources.write(7, 2);
  const { arrivals } = await fleet.awaitResponse(2);
  for (const { sizeBytes } of arrivals) {
    if (sizeBytes < LARGE_SNAPSHOT_BYTES)
      throw new E2eError("BENCHMARK_FAILED", `A snapshot has only ${sizeBytes} bytes`);
  }
  const samples = arrivals.map(({ atMs }) => atMs - editedMs);
  return finish(controlPlane, fleet, samples);
}

/** Pushes that each of 100 pods gets from 1,000 edits, made in one go or spread over some time. */
export async function measureBurst(bench: ControlPlaneBench, options: { readonly overMs: number }): Promise<Measured> {
  const { resources, controlPlane, fleet } = await start(bench, { set: USUAL_SET, pods: 100, isTls: true });
  const startedMs = performance.now();
  for (let edit = 0; edit < BURST_EDITS; edit++) {
    const aheadMs = startedMs + (options.overMs * edit) / BURST_EDITS - performance.now();
    if (aheadMs > 1) await delay(aheadMs);
    void resources.write(edit % USUAL_SET.resources, 2 + edit); // In a folder: done when it returns.
  }
  const { counts } = await quietOf(fleet);
  const samples = counts.map((count) => count - 1);
  return finish(controlPlane, fleet, samples);
}

/** Resolves when no pod has got a response for a while. */
export async function quietOf(fleet: Fleet): Promise<PodsAnswer> {
  for (let before = ""; ;) {
    await delay(BURST_QUIET_MS);
    const now = await fleet.look();
    if (String(now.counts) === before) return now;
    before = String(now.counts);
  }
}

/**
 * Measures how long a pod of a killed replica waits, beyond its own back-off, until another replica has served it.
 */
export async function measureKilledReplica(bench: ControlPlaneBench): Promise<Measured> {
  const other = await reservePort();
  const setup = { set: USUAL_SET, pods: 100, isTls: true, otherPort: other };
  const { resources, controlPlane, fleet } = await start(bench, setup);
  const second = await launch(bench, resources, { isTls: true, adsPort: other });
  const killedMs = Date.now();
  controlPlane.process.kill();
  const { arrivals } = await fleet.awaitResponse(2);
  const samples = arrivals.map(({ atMs, waitedMs }) => atMs - killedMs - waitedMs);
  return finish(second, fleet, samples);
}

interface Setup {
  /** A folder when it is not said. */
  readonly place?: Place;
  readonly set: SetSize;
  readonly pods: number;
  readonly isTls: boolean;
  readonly isIncremental?: boolean;
  /** True if pods open their window as wide as the largest snapshot. */
  readonly isWide?: boolean;
  /** The ADS port to which pods connect when they lose their stream. */
  readonly otherPort?: number;
  readonly nacks?: Nacks | undefined;
}

interface Running {
  readonly resources: ResourceSet;
  readonly controlPlane: Replica;
  readonly fleet: Fleet;
  /** When the process of the control plane was started, in milliseconds since the epoch. */
  readonly startedMs: number;
}

/** Starts a control plane over a set, and pods; resolves when each has its first response. */
export async function start(
  bench: ControlPlaneBench,
  { place = "folder", set, pods, isTls, isIncremental = false, isWide = false, otherPort, nacks }: Setup,
): Promise<Running> {
  const resources = place === "folder" ? makeFolderSet(bench.folder, set) : await makeClusterSet(bench, set);
  const adsPort = await reservePort();
  const fleet = await startFleet({
    pods,
    isIncremental,
    ...(set.fleets !== undefined && { fleets: set.fleets }),
    ports: otherPort === undefined ? [adsPort] : [adsPort, otherPort],
    windowBytes: isWide ? WINDOW_BYTES.wide : WINDOW_BYTES.usual,
    // A thousand attempts a second, while the control plane reads that many resources, would delay it.
    backoffMs: otherPort === undefined && set.fleets === undefined ? BACKOFF_MS.start : BACKOFF_MS.lost,
    ...(nacks === undefined ? {} : { nacks }),
    ...(isTls ? { certificates: bench.certificates } : {}),
  });
  bench.onStarted(() => fleet.stop());
  const startedMs = Date.now();
  const controlPlane = await launch(bench, resources, { isTls, adsPort });
  await fleet.awaitResponse(1);
  return { resources, controlPlane, fleet, startedMs };
}

/** Starts a control plane with its default settings except for addresses, and waits until it is ready. */
async function launch(
  { certificates, root, onStarted }: ControlPlaneBench,
  { source }: ResourceSet,
  { isTls, adsPort }: { readonly isTls: boolean; readonly adsPort: number },
): Promise<Replica> {
  const ports = { ...(await anyPorts()), ads: adsPort };
  const env = { LOG_LEVEL: "error", ...source, ...(isTls ? {} : PLAINTEXT) };
  const replica = await startReplica({ ports, certificates, manifests: "", root }, env);
  onStarted(() => replica.process.stop("SIGTERM", 5000));
  return replica;
}

/** Checks that all pods have the version of their fleet: a figure over others would be worthless. */
export async function finish(
  controlPlane: Replica,
  fleet: Fleet,
  samples: readonly number[],
  { nacks = { pods: 0, resources: 0 }, fleets = 1 }: { readonly nacks?: Nacks; readonly fleets?: number } = {},
): Promise<Measured> {
  const last: PodsAnswer = await fleet.look();
  const versions = new Set(last.arrivals.map(({ version }) => version));
  // Each pod that NACKed something else has a version of its own.
  const expected = nacks.pods + (last.counts.length > nacks.pods ? fleets : 0);
  if (versions.size !== expected)
    throw new E2eError("BENCHMARK_FAILED", `Pods ended up with ${versions.size} versions instead of ${expected}`);
  await eventually("the control plane to know what all pods have accepted", async () => {
    const { fleets = [] } = (await controlPlane.rollout()) as Partial<Rollout>;
    const [total = 0, accepted = 0] = (["total", "accepted"] as const).map((count) =>
      fleets.reduce((sum, { pods: counts }) => sum + (counts?.[count] ?? 0), 0),
    );
    if (total !== last.counts.length || accepted !== total - nacks.pods)
      throw new Error(`${accepted} of ${total} have`);
  });
  const { pid } = controlPlane.process;
  return { samples, peakMemoryMib: peakMebibytes(pid), cpuSeconds: cpuTimeMs(pid) / 1000 };
}
