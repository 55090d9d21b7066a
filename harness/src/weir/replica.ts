// One replica of the real control plane over a folder of manifests, and a client that watches its
// rollout API over HTTP, as a dashboard does.
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-node";
import { readRolloutState, type RolloutState } from "@weir/dev/output/rollout-state";
import type { StackPorts } from "@weir/dev/settings";
import { type DevelopmentCertificates, ensureCertificates } from "@weir/dev/setup/certificates";
import { STACK_HOST } from "@weir/dev/setup/ports";
import {
  type Rollout as RolloutMessage,
  RolloutSchema,
  RolloutService,
} from "@weir/proto/generated/weir/rollout/v1/rollout_pb";
import { anyPorts, type Env, startStackProgram } from "../processes/programs.ts";
import type { Program } from "../processes/start-process.ts";

/** The part of the rollout API's messages that tests read. */
export interface Rollout {
  readonly observedAt: string;
  readonly ready?: boolean;
  readonly source?: { readonly error?: string };
  readonly fleets: readonly { readonly name: string; readonly version: string; readonly pods?: ReportedCounts }[];
  readonly resources: readonly ReportedResource[];
  readonly pods?: readonly {
    readonly nodeId: string;
    readonly peer: string;
    readonly state: string;
    readonly accepted?: { readonly version: string };
    readonly rejection?: string;
  }[];
}

/** Numbers of pods in the rollout API; zero is left out. */
type ReportedCounts = Readonly<Partial<Record<"total" | "accepted" | "rejected" | "pending", number>>>;

/** A resource in the rollout API. */
export interface ReportedResource {
  readonly name: string;
  readonly state: string;
  readonly reason?: string;
  readonly servesLastGood?: boolean;
  readonly problems?: readonly { readonly message: string }[];
  readonly pods?: ReportedCounts;
}

/** Paths of the certificates of control planes and of pods. */
export type ReplicaCertificates = DevelopmentCertificates;

/** Makes them in `folder`, for this machine and further names of the control plane. */
export function makeCertificates(folder: string, ...names: readonly string[]): Promise<ReplicaCertificates> {
  const hostNames = ["localhost", STACK_HOST, ...names];
  return ensureCertificates(join(folder, "certificates"), { hostNames, now: new Date() });
}

/** The files that replicas share, and the ports of this one; free ones by default. */
export interface ReplicaPlace {
  readonly certificates: ReplicaCertificates;
  /** Folder of the manifests. */
  readonly manifests: string;
  readonly ports?: StackPorts;
  /** Root of the checkout whose program it is; by default this one. */
  readonly root?: string;
}

/** Starts a replica with further environment variables, and waits until it is ready. */
export async function startReplica(
  { manifests, ports: given, ...place }: ReplicaPlace,
  env: Env = {},
): Promise<Replica> {
  const ports = given ?? (await anyPorts());
  return new Replica(
    ports,
    await startStackProgram("controlPlane", { ...place, ports, sourceDirectory: manifests }, env),
  );
}

/** A running replica. */
export class Replica {
  readonly ports: StackPorts;
  readonly process: Program;
  /** Its HTTP address. */
  readonly url: string;

  constructor(ports: StackPorts, process: Program) {
    this.ports = ports;
    this.process = process;
    this.url = `http://${STACK_HOST}:${ports.controlPlaneHttp}`;
  }

  get adsPort(): number {
    return this.ports.ads;
  }

  /** Its rollout, as the local stack shows it. */
  async status(): Promise<RolloutState> {
    return readRolloutState(await this.rollout());
  }

  /** Its metrics, as text. */
  async metrics(): Promise<string> {
    return await (await fetch(`${this.url}/metrics`)).text();
  }

  /** Its answer over the rollout API. */
  async rollout(): Promise<Rollout> {
    const { rollout } = await clientOf(this.url).getRollout({});
    return jsonOf(rollout);
  }
}

/** Watches the rollout at the HTTP address of a control plane, from its first state on. */
export async function watchRolloutApi(url: string): Promise<RolloutWatcher> {
  const watcher = new RolloutWatcher(url);
  await watcher.opened;
  return watcher;
}

/** A client that keeps the last rollout of its stream. */
class RolloutWatcher {
  /** Resolves with the first state; rejects when the stream ends before. */
  readonly opened: Promise<void>;
  readonly #closed = new AbortController();
  #last: Rollout | undefined;
  #end: string | undefined;

  constructor(url: string) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.opened = promise;
    void this.#follow(url, resolve)
      .catch((error: unknown) => error)
      .then((error = "it has ended") => {
        this.#end = String(error);
        reject(new Error(`The watch: ${this.#end}`));
      });
  }

  /** The last rollout; throws when the stream has ended. */
  last(): Rollout {
    if (this.#end !== undefined || this.#last === undefined)
      throw new Error(`The watch: ${this.#end ?? "nothing has come yet"}`);
    return this.#last;
  }

  close(): void {
    this.#closed.abort();
  }

  async #follow(url: string, opened: () => void): Promise<void> {
    for await (const { rollout } of clientOf(url).watchRollout({}, { signal: this.#closed.signal })) {
      this.#last = jsonOf(rollout);
      opened();
    }
  }
}

/** A client in JSON over HTTP/1.1, as browsers have it. */
function clientOf(baseUrl: string): Client<typeof RolloutService> {
  return createClient(RolloutService, createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false }));
}

function jsonOf(rollout: RolloutMessage | undefined): Rollout {
  return toJson(RolloutSchema, rollout!) as unknown as Rollout;
}
