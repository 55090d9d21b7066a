// The replicas behind the local server of `weir console`: finds them, and passes requests on to them.
import { type Agent as HttpAgent, type IncomingMessage, request as requestHttp, type ServerResponse } from "node:http";
import { request as requestHttps } from "node:https";
import { pipeline } from "node:stream/promises";

import { Code, ConnectError } from "@connectrpc/connect";

import { printable } from "../command-line/printable.ts";
import { explainFailure } from "../rollout/failure.ts";
import { type FindDeps, findTargets, openAgent, type Target } from "../rollout/rollout-client.ts";
import type { ServerAccess } from "../rollout/server-access.ts";

/** Headers of the page's requests that replicas receive. */
const REQUEST_HEADERS = ["content-type", "connect-protocol-version"] as const;

/** Longest wait for the head of an answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** A request of the page to a replica. */
export interface PageRequest {
  readonly request: IncomingMessage;
  /** In Latin-1: its bytes. */
  readonly body: string;
  readonly path: string;
  readonly response: ServerResponse;
}

interface Replica {
  readonly index: number;
  readonly target: Target;
  readonly agent: HttpAgent;
  readonly headers: Headers;
}

/** The replicas; `close` ends every connection to them. */
export class ForwardedReplicas {
  readonly #servers: readonly string[];
  readonly #access: ServerAccess;
  readonly #deps: FindDeps;
  readonly #replicas = new Map<string, Replica>();
  #found = 0;

  constructor(servers: readonly string[], access: ServerAccess, deps: FindDeps) {
    this.#servers = servers;
    this.#access = access;
    this.#deps = deps;
  }

  /** Finds the replicas anew; a text is the problem with a file of the command line. */
  async lookUp(): Promise<string | undefined> {
    const targets = await findTargets(this.#servers, this.#deps);
    const labels = new Set(targets.map(({ label }) => label));
    for (const [label, { agent }] of this.#replicas) {
      if (labels.has(label)) continue;
      agent.destroy();
      this.#replicas.delete(label);
    }
    for (const target of targets) {
      if (this.#replicas.has(target.label)) continue;
      const opened = openAgent(target, this.#access);
      if (typeof opened === "string") return opened;
      this.#replicas.set(target.label, { ...opened, index: this.#found++, target });
    }
    return undefined;
  }

  /** The number that identifies each replica. */
  indices(): readonly number[] {
    return [...this.#replicas.values()].map(({ index }) => index);
  }

  close(): void {
    for (const { agent } of this.#replicas.values()) agent.destroy();
  }

  /** Answers with a file of the page, of the first replica that has it; fails with an Error when none has. */
  async page(path: string, response: ServerResponse, headers: Readonly<Record<string, string>>): Promise<void> {
    const reasons: string[] = [];
    for (const replica of this.#replicas.values()) {
      try {
        const answer = await this.#ask(replica, { method: "GET", path, headers: {}, signal: closed(response) });
        const { "content-type": type = "application/octet-stream" } = answer.headers;
        if (answer.statusCode === 200) {
          response.writeHead(200, { ...headers, "Content-Type": type });
          await pipeline(answer, response);
          return;
        }
        answer.resume();
        reasons.push(`${replica.target.label} has no page: it answers with HTTP status ${answer.statusCode}`);
      } catch (error) {
        if (response.headersSent) throw error;
        reasons.push(reasonOf(replica.target, error));
      }
    }
    throw new Error(printable(reasons.join("; ")) || "no replica of the control plane is known");
  }

  /** Passes a request on; fails with an Error when the replica does not answer. */
  async forward(index: number, { request, body, path, response }: PageRequest): Promise<void> {
    const replica = [...this.#replicas.values()].find((each) => each.index === index);
    if (replica === undefined) throw new Error("this replica has gone");
    const headers = Object.fromEntries(
      REQUEST_HEADERS.flatMap((name) =>
        request.headers[name] === undefined ? [] : [[name, String(request.headers[name])]],
      ),
    );
    let answer: IncomingMessage;
    try {
      answer = await this.#ask(replica, { method: "POST", path, headers, body, signal: closed(response) });
    } catch (error) {
      throw new Error(printable(reasonOf(replica.target, error)), { cause: error });
    }
    const { "content-type": type = "application/json" } = answer.headers;
    response.writeHead(answer.statusCode ?? 502, { "Content-Type": type, "Cache-Control": "no-store" });
    await pipeline(answer, response);
  }

  async #ask(
    { target, agent, headers: own }: Replica,
    options: {
      readonly method: string;
      readonly path: string;
      readonly headers: Readonly<Record<string, string>>;
      readonly body?: string;
      readonly signal: AbortSignal;
    },
  ): Promise<IncomingMessage> {
    const { method, path, headers, body = "", signal } = options;
    const request = target.url.startsWith("https:") ? requestHttps : requestHttp;
    return await new Promise((resolve, reject) => {
      const asked = request(
        new URL(target.url + path),
        { method, agent, headers: { ...headers, ...Object.fromEntries(own) }, signal },
        (answer) => {
          clearTimeout(timer);
          resolve(answer);
        },
      );
      // Not that of the request: the connection to a pod of a cluster is no socket, and has none.
      const timer = setTimeout(() => asked.destroy(new Error("it does not answer")), ANSWER_TIMEOUT_MS);
      asked.once("close", () => clearTimeout(timer));
      asked.on("error", reject);
      asked.end(Buffer.from(body, "latin1"));
    });
  }
}

/** Aborts when the browser has gone. */
function closed(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  response.once("close", () => gone.abort());
  return gone.signal;
}

/** Why a target does not answer, in the words of the other commands. */
function reasonOf({ label }: Target, error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const failure = new ConnectError(message, Code.Unavailable, undefined, undefined, error);
  return explainFailure(label, failure, ANSWER_TIMEOUT_MS);
}
