// A real rate limit pod, asked over HTTP; also continuously during a fault, so that a test notices a
// moment without a limit.
import { STACK_HOST } from "@weir/dev/setup/ports";
import type { StackPlace } from "@weir/dev/setup/programs";
import { anyPorts, type Env, startStackProgram } from "../processes/programs.ts";
import type { Program } from "../processes/start-process.ts";
import { type Decision, Traffic } from "./traffic.ts";

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
  const process = await startStackProgram("rateLimit", { ...place, ports }, env);
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

  /** Asks the same, and resolves with the decision and the limit that was applied. Throws without a decision. */
  async decide(domain: string, entries: Entries): Promise<Decision> {
    const response = await this.#post(domain, entries);
    if (response.status !== 200 && response.status !== 429) throw new Error(`The pod answered ${response.status}`);
    const { statuses } = (await response.json()) as {
      readonly statuses: readonly { currentLimit?: { requestsPerUnit: number } }[];
    };
    const limit = statuses[0]?.currentLimit?.requestsPerUnit;
    return { code: response.status === 200 ? "allowed" : "limited", limit };
  }

  /** The requests per unit of the limit that is applied; undefined when there is none. */
  async limitOf(domain: string, entries: Entries): Promise<number | undefined> {
    return (await this.decide(domain, entries)).limit;
  }

  /** HTTP statuses of three requests of a user, one after the other. */
  async askThrice(domain: string, user: string): Promise<readonly number[]> {
    return [await this.ask(domain, { user }), await this.ask(domain, { user }), await this.ask(domain, { user })];
  }

  /** Begins to ask about one user of a domain, one request after the other. */
  keepAsking(domain: string): Traffic {
    const ask = (): Promise<Decision> => this.decide(domain, { user: "always" });
    return new Traffic([{ ask }], { periodMs: PAUSE_MS, waitingMax: 1 });
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
  readonly process: Program;
  readonly grpcPort: number;

  constructor(process: Program, grpcPort: number, httpUrl: string) {
    super(httpUrl);
    this.process = process;
    this.grpcPort = grpcPort;
  }
}
