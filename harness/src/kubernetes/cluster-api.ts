// Sends requests to the API server of a test cluster as the user who may do everything, over connections that
// are kept: a kubectl for each would take most of the processor.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { Agent, request } from "node:https";
import { text } from "node:stream/consumers";

import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";

/** URL, credentials and folders of a cluster; plain data, so that one process can pass it to another. */
export interface ClusterPlace {
  /** The API server, such as https://127.0.0.1:41234. */
  readonly url: string;
  /** Certificate of the authority that signed the API server's, PEM. */
  readonly caPem: string;
  /** Bearer token of a user who may do everything. */
  readonly adminToken: string;
  /** Folder of its files; tests may put files of their own there. */
  readonly folder: string;
  /** Folder of the programs of Kubernetes. */
  readonly programs: string;
}

/** Longest wait for an answer, in milliseconds: an API server that loses etcd meanwhile may not answer at all. */
const ANSWER_TIMEOUT_MS = 20_000;

/** Requests that are under way at most. */
const REQUESTS_MAX = 16;

/** An answer of the API server. */
export interface ApiAnswer {
  readonly status: number;
  readonly text: string;
  /** An object of JSON, parsed; empty when it is something else. */
  readonly body: Mapping;
}

/** The client. Fails when the API server does not answer. */
export class ClusterApi {
  readonly #cluster: ClusterPlace;
  readonly #agent: Agent;

  constructor(cluster: ClusterPlace) {
    this.#cluster = cluster;
    this.#agent = new Agent({ ca: cluster.caPem, keepAlive: true, maxSockets: REQUESTS_MAX });
  }

  /** The objects at a path such as `/api/v1/pods`. Fails with each answer but 200. */
  async list(path: string): Promise<readonly Mapping[]> {
    const { status, body } = await this.send("GET", path);
    if (status !== 200) throw new Error(`GET ${path} answered ${status}: ${String(body["message"])}`);
    return mappingsOf(body["items"]);
  }

  /**
   * Sends one request. An object in a PATCH is a JSON merge patch; a text is a manifest in YAML, which a PATCH applies on the
   * server's side.
   */
  async send(
    method: "GET" | "POST" | "DELETE" | "PATCH",
    path: string,
    content: object | string = "",
  ): Promise<ApiAnswer> {
    const isYaml = typeof content === "string";
    const sent = isYaml ? content : JSON.stringify(content);
    const [patch, other] = isYaml ? ["apply-patch+yaml", "yaml"] : ["merge-patch+json", "json"];
    const headers = {
      "content-length": Buffer.byteLength(sent), // Without it Node.js sends the body of a DELETE as a further request.
      authorization: `Bearer ${this.#cluster.adminToken}`,
      "content-type": `application/${method === "PATCH" ? patch : other}`,
    };
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS);
    const call = request(this.#cluster.url + path, { method, headers, agent: this.#agent, signal });
    call.end(sent);
    const [response] = (await once(call, "response")) as [IncomingMessage];
    const answer = await text(response);
    const body = answer.startsWith("{") ? fieldsOf(JSON.parse(answer)) : {};
    return { status: response.statusCode ?? 0, text: answer, body };
  }

  /** Closes the connections; the next request opens others. */
  close(): void {
    this.#agent.destroy();
  }
}
