// Sends requests to the API server of a test cluster as the user who may do everything, over connections that
// are kept: a kubectl for each would take most of the processor.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";

import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";
import type { ClusterPlace } from "./cluster-access.ts";

/** Longest wait for an answer, in milliseconds. */
const ANSWER_TIMEOUT_MS = 10_000;

/** An answer of the API server. */
export interface ApiAnswer {
  readonly status: number;
  /** Its body, parsed. */
  readonly body: Mapping;
}

/** The client. Fails when the API server does not answer. */
export class ClusterApi {
  readonly #cluster: ClusterPlace;
  readonly #agent: Agent;

  constructor(cluster: ClusterPlace) {
    this.#cluster = cluster;
    this.#agent = new Agent({ ca: cluster.caPem, keepAlive: true });
  }

  /** The objects at a path such as `/api/v1/pods`. Fails with each answer but 200. */
  async list(path: string): Promise<readonly Mapping[]> {
    const { status, body } = await this.send("GET", path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${String(body["message"])}`);
    return mappingsOf(body["items"]);
  }

  /** Sends one request; `merge` is a JSON merge patch. */
  async send(method: "GET" | "POST" | "DELETE" | "PATCH", path: string, object?: object): Promise<ApiAnswer> {
    const sent = object === undefined ? "" : JSON.stringify(object);
    const headers = {
      "content-length": Buffer.byteLength(sent), // Without it Node.js sends the body of a DELETE as a further request.
      authorization: `Bearer ${this.#cluster.adminToken}`,
      "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
    };
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const call = request(this.#cluster.url + path, { method, headers, agent: this.#agent, signal });
    call.end(sent);
    const [response] = (await once(call, "response")) as [IncomingMessage];
    return { status: response.statusCode ?? 0, body: fieldsOf(JSON.parse(await text(response))) };
  }

  /** Closes the connections. */
  close(): void {
    this.#agent.destroy();
  }
}
