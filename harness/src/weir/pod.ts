// A real rate limit pod, asked over HTTP; also continuously during a fault, so that a test notices a
// moment without a limit.
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { STACK_HOST } from "@weir/dev/setup/ports";
import type { StackPlace } from "@weir/dev/setup/programs";
import { anyPorts, type Env, startProgram } from "../processes/programs.ts";

/** Time between two requests of keepAsking(), in milliseconds. */
const PAUSE_MS = 20;

/** The entries of one descriptor, such as `{ path: "/x", user: "ada" }`. */
type Entries = Readonly<Record<string, string>>;

/** Starts a pod of the control plane at these ports, itself on free ones, by default of this checkout. */
export async function startPod(
  place: Pick<StackPlace, "ports" | "certificates"> & { readonly root?: string },
  env: Env = {},
): Promise<Pod> {
  const ports = { ...(await anyPorts()), ads: place.ports.ads };
  const process = await startProgram("rateLimit", { ...place, ports }, env);
  return new Pod(process, ports.rateLimitGrpc, `http://${STACK_HOST}:${ports.rateLimitHttp}`);
}

/** A rate limit service at the URL of its HTTP listener. */
export class PodClient {
  readonly httpUrl: string;

  constructor(httpUrl: string) {
    this.httpUrl = httpUrl;
  }

  /** Asks over /json about one descriptor, and resolves with the HTTP status. */
  async ask(domain: string, entries: Entries): Promise<number> {
    const response = await this.#post(domain, entries);
    await response.body?.cancel();
    return response.status;
  }

  /**
   * Asks the same, and resolves with the requests per unit of the limit that was applied; undefined
   * when no limit applies. Throws without a decision.
   */
  async limitOf(domain: string, entries: Entries): Promise<number | undefined> {
    const response = await this.#post(domain, entries);
    if (response.status !== 200 && response.status !== 429) throw new Error(`The pod answered ${response.status}`);
    const { statuses } = (await response.json()) as {
      readonly statuses: readonly { currentLimit?: { requestsPerUnit: number } }[];
    };
    return statuses[0]?.currentLimit?.requestsPerUnit;
  }

  /** Begins to ask about one user of a domain without a pause. */
  keepAsking(domain: string): Questions {
    return new Questions(this, domain);
  }

  #post(domain: string, entries: Entries): Promise<Response> {
    const descriptor = { entries: Object.entries(entries).map(([key, value]) => ({ key, value })) };
    return fetch(`${this.httpUrl}/json`, {
      method: "POST",
      body: JSON.stringify({ domain, descriptors: [descriptor] }),
    });
  }
}

/** A running pod. */
export class Pod extends PodClient {
  readonly process: ProcessGroup;
  readonly grpcPort: number;

  constructor(process: ProcessGroup, grpcPort: number, httpUrl: string) {
    super(httpUrl);
    this.process = process;
    this.grpcPort = grpcPort;
  }
}

/** Requests of PodClient.keepAsking(). */
export class Questions {
  readonly #end = new AbortController();
  readonly #changes: string[] = [];
  readonly #ended: Promise<void>;

  constructor(pod: PodClient, domain: string) {
    this.#ended = this.#ask(pod, domain);
  }

  /**
   * Ends them; resolves with the limits in the answers, without repetitions: "2 → 3" is one change,
   * whatever time it took. "none" is an answer without a limit.
   */
  async end(): Promise<string> {
    this.#end.abort();
    await this.#ended;
    return this.#changes.join(" → ");
  }

  async #ask(pod: PodClient, domain: string): Promise<void> {
    for (let isLast = false; !isLast;) {
      isLast = this.#end.signal.aborted; // One more request after the call of end().
      const answer = await pod.limitOf(domain, { user: "always" }).then(
        (limit) => String(limit ?? "none"),
        (error: unknown) => String(error),
      );
      if (answer !== this.#changes.at(-1)) this.#changes.push(answer);
      if (!isLast) await delay(PAUSE_MS);
    }
  }
}
