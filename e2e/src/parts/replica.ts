// One replica of the real control plane over a folder of manifests, and a client that watches its
// rollout API over HTTP, as a dashboard does.
import { readRolloutState, type RolloutState } from "@weir/dev/output/rollout-state";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import type { StackPorts } from "@weir/dev/settings";
import type { DevelopmentCertificates } from "@weir/dev/setup/certificates";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { anyPorts, type Env, startProgram } from "./programs.ts";

/** Bytes in front of a message of a Connect stream: one of flags and four of length. */
const HEADER_BYTES = 5;

const ROLLOUT_SERVICE = "weir.rollout.v1.RolloutService";

/** The part of the rollout API's messages that tests read. */
export interface Rollout {
  readonly observedAt: string;
  readonly ready?: boolean;
  readonly source?: { readonly error?: string };
  readonly fleets: readonly {
    readonly name: string;
    readonly version: string;
    readonly pods?: ReportedCounts;
  }[];
  readonly resources: readonly ReportedResource[];
  readonly pods?: readonly ReportedPod[];
}

/** Numbers of pods in the rollout API; zero is left out. */
export interface ReportedCounts {
  readonly total?: number;
  readonly accepted?: number;
  readonly rejected?: number;
  readonly pending?: number;
}

/** A resource in the rollout API. */
export interface ReportedResource {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly servesLastGood?: boolean;
  readonly problems?: readonly { readonly message: string }[];
  readonly pods?: ReportedCounts;
}

/** A pod in the rollout API. */
export interface ReportedPod {
  readonly nodeId: string;
  readonly state: string;
  readonly accepted?: { readonly version: string };
  readonly rejection?: string;
}

/** What replicas share, and the ports of this one; free ones by default. */
export interface ReplicaPlace {
  readonly certificates: DevelopmentCertificates;
  /** Folder of the manifests. */
  readonly manifests: string;
  readonly ports?: StackPorts;
}

/** Starts a replica with further environment variables, and waits until it is ready. */
export async function startReplica(
  { certificates, manifests, ports: given }: ReplicaPlace,
  env: Env = {},
): Promise<Replica> {
  const ports = given ?? (await anyPorts());
  return new Replica(
    ports,
    await startProgram("controlPlane", { ports, certificates, sourceDirectory: manifests }, env),
  );
}

/** A running replica. */
export class Replica {
  readonly ports: StackPorts;
  readonly process: ProcessGroup;
  /** Its HTTP address. */
  readonly url: string;

  constructor(ports: StackPorts, process: ProcessGroup) {
    this.ports = ports;
    this.process = process;
    this.url = `http://${STACK_HOST}:${ports.controlPlaneHttp}`;
  }

  get adsPort(): number {
    return this.ports.ads;
  }

  /** Its status page. */
  async status(): Promise<RolloutState> {
    const response = await fetch(`${this.url}/status`, { headers: { accept: "application/json" } });
    return readRolloutState(await response.json());
  }

  /** Its answer over the rollout API. */
  rollout(): Promise<Rollout> {
    return readRollout(this.url);
  }
}

/** The rollout that the control plane at an HTTP address reports. */
export async function readRollout(url: string): Promise<Rollout> {
  const headers = { "content-type": "application/json" };
  const response = await fetch(`${url}/${ROLLOUT_SERVICE}/GetRollout`, { method: "POST", headers, body: "{}" });
  return ((await response.json()) as { readonly rollout: Rollout }).rollout;
}

/** Begins to watch the rollout at the HTTP address of a control plane. */
export async function watchRolloutApi(url: string): Promise<RolloutWatcher> {
  const closed = new AbortController();
  const response = await fetch(`${url}/${ROLLOUT_SERVICE}/WatchRollout`, {
    method: "POST",
    headers: { "content-type": "application/connect+json" },
    body: Buffer.from("\0\0\0\0\x02{}"),
    signal: closed.signal,
  });
  if (!response.ok || response.body === null) throw new Error(`The rollout API answered ${response.status}`);
  return new RolloutWatcher(response.body, closed);
}

/** A client that keeps the last rollout of its stream. */
class RolloutWatcher {
  readonly #closed: AbortController;
  #last: Rollout | undefined;
  #end: string | undefined;

  constructor(body: AsyncIterable<Uint8Array>, closed: AbortController) {
    this.#closed = closed;
    void this.#follow(body).then(
      () => (this.#end = "it has ended"),
      (error: unknown) => (this.#end = String(error)),
    );
  }

  /** The last rollout; throws before the first one, and when the stream has ended. */
  last(): Rollout {
    if (this.#end !== undefined || this.#last === undefined)
      throw new Error(`The watch: ${this.#end ?? "nothing has come yet"}`);
    return this.#last;
  }

  close(): void {
    this.#closed.abort();
  }

  async #follow(body: AsyncIterable<Uint8Array>): Promise<void> {
    let rest = Buffer.alloc(0);
    for await (const chunk of body) {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const end = rest.length < HEADER_BYTES ? Infinity : HEADER_BYTES + rest.readUInt32BE(1);
        if (rest.length < end) break;
        const message = JSON.parse(rest.toString("utf8", HEADER_BYTES, end)) as { readonly rollout?: Rollout };
        if (message.rollout !== undefined) this.#last = message.rollout;
        rest = rest.subarray(end);
      }
    }
  }
}
