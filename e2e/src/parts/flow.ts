// The configuration and decision flow as a test starts it: the real control plane over a folder of
// manifests with mutual TLS, and as many real rate limit pods as wanted. Everything in one
// temporary folder and on free ports.
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { stringify } from "yaml";
import { ensureCertificates } from "@weir/dev/certificates";
import { STACK_HOST } from "@weir/dev/ports";
import type { ProcessGroup } from "@weir/dev/process-group";
import { startProcess } from "@weir/dev/process-group";
import type { ProgramPlan, StackPlace } from "@weir/dev/programs";
import { planPrograms } from "@weir/dev/programs";
import { waitUntilReady } from "@weir/dev/ready";
import type { RolloutState } from "@weir/dev/rollout-state";
import { readRolloutState } from "@weir/dev/rollout-state";
import { anyPorts } from "./ports.ts";

/** Root of the repository. */
export const ROOT = join(import.meta.dirname, "..", "..", "..");

/**
 * Longest wait for a program to be ready, in milliseconds: also when what it waits for is still
 * being started, on a busy machine.
 */
const READY_TIMEOUT_MS = 120_000;

/** How long a program may take to stop, in milliseconds. */
const STOP_GRACE_MS = 30_000;

/** A rule as it stands in a manifest. */
export interface Rule {
  readonly key: string;
  readonly value?: string;
  readonly rateLimit?: { readonly unit: string; readonly requestsPerUnit: number };
  readonly shadowMode?: boolean;
  readonly descriptors?: readonly Rule[];
}

/** A running pod. */
export interface Pod {
  readonly grpcPort: number;
  readonly httpUrl: string;
  readonly process: ProcessGroup;
  /**
   * Asks over /json about one descriptor, such as `{ path: "/x", user: "ada" }`, and resolves with
   * the HTTP status.
   */
  ask(domain: string, entries: Readonly<Record<string, string>>): Promise<number>;
  /**
   * Asks the same, and resolves with the requests per unit of the limit that was applied; undefined
   * when there was none. Fails when there is no decision.
   */
  limitOf(domain: string, entries: Readonly<Record<string, string>>): Promise<number | undefined>;
}

/** The running flow. */
export interface Flow {
  /** Where the control plane tells what becomes of changes. */
  controlPlaneUrl(): string;
  /** Writes a manifest in one step, as an editor that saves by renaming does. */
  writeManifest(file: string, text: string): void;
  /** Empties the file and writes it again, as other editors do. */
  overwriteManifest(file: string, text: string): void;
  /** Deletes a manifest. */
  removeManifest(file: string): void;
  /**
   * Starts a pod with further environment variables; the first one of a flow and all others alike.
   */
  startPod(env?: Readonly<Record<string, string>>): Promise<Pod>;
  /**
   * Kills the control plane as a crash would; the pods are on their own until it is started again.
   */
  killControlPlane(): Promise<void>;
  /** Starts the control plane again, at its old address. */
  startControlPlane(): Promise<void>;
  /** What the control plane says of manifests and pods. */
  status(): Promise<RolloutState>;
  /** Its metrics, as text. */
  metrics(): Promise<string>;
  stop(): Promise<void>;
}

/** The text of a manifest for one domain. */
export function manifestOf(name: string, domain: string, descriptors: readonly Rule[]): string {
  return stringify({
    apiVersion: "ratelimit.weir.dev/v1alpha1",
    kind: "RateLimitConfig",
    metadata: { name },
    spec: { domain, descriptors },
  });
}

/** Writes a manifest in one step, as an editor that saves by renaming does. */
export function saveManifest(folder: string, file: string, text: string): void {
  const path = join(folder, file);
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}

/** What a flow is told besides. */
export interface FlowOptions {
  /** Further environment variables of the control plane. */
  readonly controlPlaneEnv?: Readonly<Record<string, string>>;
}

/** Starts a control plane in `folder` over the manifests given by file name. */
export async function startFlow(
  folder: string,
  manifests: Readonly<Record<string, string>>,
  options: FlowOptions = {},
): Promise<Flow> {
  const flow = new ProcessFlow(folder, options.controlPlaneEnv ?? {});
  for (const [file, text] of Object.entries(manifests)) flow.writeManifest(file, text);
  await flow.start();
  return flow;
}

/**
 * Starts a pod of the control plane at these ports, itself on free ones, with further environment
 * variables.
 */
export async function startPod(
  place: Pick<StackPlace, "ports" | "certificates">,
  env: Readonly<Record<string, string>> = {},
): Promise<Pod> {
  const { rateLimitGrpc, rateLimitHttp, rateLimitDebug, rateLimitMetrics } = await anyPorts();
  const ports = { ...place.ports, rateLimitGrpc, rateLimitHttp, rateLimitDebug, rateLimitMetrics };
  // eslint-disable-next-line no-restricted-syntax -- the program needs the PATH of the test to find its tools
  const machine = process.env;
  const plan = planPrograms({
    certificates: place.certificates,
    ports,
    sourceDirectory: "",
    accountDirectory: "",
    machine,
  }).rateLimit;
  const pod = await startPlanned({ ...plan, env: { ...plan.env, ...env } });
  const httpUrl = `http://${STACK_HOST}:${rateLimitHttp}`;
  return {
    grpcPort: rateLimitGrpc,
    httpUrl,
    process: pod,
    ask: (domain, entries) => ask(httpUrl, domain, entries),
    limitOf: (domain, entries) => limitOf(httpUrl, domain, entries),
  };
}

/** Starts one program of the stack and waits until it is ready; kills it when it is not. */
export async function startPlanned(plan: ProgramPlan): Promise<ProcessGroup> {
  const program = await startProcess({
    name: plan.name,
    command: launcher(plan.launcher),
    args: [],
    env: plan.env,
    cwd: ROOT,
  });
  try {
    await waitUntilReady(program, plan.readyUrl, READY_TIMEOUT_MS);
  } catch (error) {
    program.kill();
    throw error;
  }
  return program;
}

/** The path of a program. */
export function launcher(name: string): string {
  return join(ROOT, "node_modules", ".bin", name);
}

class ProcessFlow implements Flow {
  private readonly folder: string;
  private readonly controlPlaneEnv: Readonly<Record<string, string>>;
  private readonly manifestFolder: string;
  private readonly pods: ProcessGroup[] = [];
  private controlPlane: ProcessGroup | undefined;
  private place: StackPlace | undefined;

  constructor(folder: string, controlPlaneEnv: Readonly<Record<string, string>>) {
    this.folder = folder;
    this.controlPlaneEnv = controlPlaneEnv;
    this.manifestFolder = join(folder, "manifests");
    mkdirSync(this.manifestFolder, { recursive: true });
  }

  async start(): Promise<void> {
    const certificates = await ensureCertificates(join(this.folder, "certificates"), {
      hostNames: ["localhost", STACK_HOST],
      now: new Date(),
    });
    this.place = {
      ports: await anyPorts(),
      certificates,
      sourceDirectory: this.manifestFolder,
      accountDirectory: join(this.folder, "account"),
      // eslint-disable-next-line no-restricted-syntax -- the programs need the PATH of the test to find their tools
      machine: process.env,
    };
    await this.startControlPlane();
  }

  async startControlPlane(): Promise<void> {
    const plan = planPrograms(this.place!).controlPlane;
    this.controlPlane = await startPlanned({ ...plan, env: { ...plan.env, ...this.controlPlaneEnv } });
  }

  async killControlPlane(): Promise<void> {
    this.controlPlane!.kill();
    await this.controlPlane!.exited;
  }

  writeManifest(file: string, text: string): void {
    saveManifest(this.manifestFolder, file, text);
  }

  overwriteManifest(file: string, text: string): void {
    writeFileSync(join(this.manifestFolder, file), text);
  }

  removeManifest(file: string): void {
    rmSync(join(this.manifestFolder, file));
  }

  async startPod(env: Readonly<Record<string, string>> = {}): Promise<Pod> {
    const pod = await startPod(this.place!, env);
    this.pods.push(pod.process);
    return pod;
  }

  controlPlaneUrl(): string {
    return `http://${STACK_HOST}:${this.place!.ports.controlPlaneHttp}`;
  }

  async status(): Promise<RolloutState> {
    const response = await fetch(`${this.controlPlaneUrl()}/status`, { headers: { accept: "application/json" } });
    return readRolloutState(await response.json());
  }

  async metrics(): Promise<string> {
    return await (await fetch(`${this.controlPlaneUrl()}/metrics`)).text();
  }

  async stop(): Promise<void> {
    for (const pod of this.pods.toReversed()) await pod.stop("SIGTERM", STOP_GRACE_MS);
    await this.controlPlane?.stop("SIGTERM", STOP_GRACE_MS);
  }
}

async function ask(httpUrl: string, domain: string, entries: Readonly<Record<string, string>>): Promise<number> {
  const response = await post(httpUrl, domain, entries);
  await response.body?.cancel();
  return response.status;
}

async function limitOf(
  httpUrl: string,
  domain: string,
  entries: Readonly<Record<string, string>>,
): Promise<number | undefined> {
  const response = await post(httpUrl, domain, entries);
  if (response.status !== 200 && response.status !== 429) throw new Error(`The pod answered ${response.status}`);
  const { statuses } = (await response.json()) as {
    readonly statuses: readonly { currentLimit?: { requestsPerUnit: number } }[];
  };
  return statuses[0]?.currentLimit?.requestsPerUnit;
}

function post(httpUrl: string, domain: string, entries: Readonly<Record<string, string>>): Promise<Response> {
  const descriptor = { entries: Object.entries(entries).map(([key, value]) => ({ key, value })) };
  return fetch(`${httpUrl}/json`, { method: "POST", body: JSON.stringify({ domain, descriptors: [descriptor] }) });
}
