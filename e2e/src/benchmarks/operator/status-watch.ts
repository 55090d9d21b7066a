// Watches all RateLimitConfigs as `kubectl get --watch` does, and remembers when the status of each last
// changed.
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";

import type { KubernetesCluster } from "@weir/harness/kubernetes/kubernetes-cluster";

const PATH = "/apis/ratelimit.weir.dev/v1alpha1/ratelimitconfigs?watch=true";

/** The status of one resource as a watcher sees it. */
export interface SeenStatus {
  /** True if it is of the present generation. */
  readonly isCurrent: boolean;
  /** Status and reason of the condition, such as `True Ready`; empty when there is none. */
  readonly ready: string;
  /** Such as `20/20`. */
  readonly pods: string;
  /** When it came, in milliseconds since the epoch. */
  readonly seenMs: number;
}

/** Starts a watch that resolves when it is open; a watch that ends makes {@link StatusWatch.statuses} throw. */
export async function watchStatuses(cluster: KubernetesCluster): Promise<StatusWatch> {
  const headers = { authorization: `Bearer ${cluster.adminToken}` };
  const call = request(cluster.url + PATH, { headers, ca: cluster.caPem, agent: false }).end();
  const [response] = (await once(call, "response")) as [IncomingMessage];
  if (response.statusCode !== 200) throw new Error(`The API server answered a watch with ${response.statusCode}`);
  return new StatusWatch(response);
}

/** An open watch. */
export class StatusWatch {
  readonly #response: IncomingMessage;
  readonly #statuses = new Map<string, SeenStatus>();
  #rest = "";
  #end: string | undefined;

  constructor(response: IncomingMessage) {
    this.#response = response;
    response.setEncoding("utf8");
    response.on("data", (text: string) => this.#read(text));
    response.on("error", (error) => (this.#end = error.message));
    response.on("end", () => (this.#end ??= "it has ended"));
  }

  /** The last status of each resource, by its name. */
  statuses(): ReadonlyMap<string, SeenStatus> {
    if (this.#end !== undefined) throw new Error(`The watch of statuses: ${this.#end}`);
    return this.#statuses;
  }

  close(): void {
    this.#response.destroy();
  }

  #read(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const { type, object } = JSON.parse(line) as WatchEvent;
      const name = object.metadata?.name;
      if (name === undefined) this.#end = `the API server sent ${line}`;
      else if (type === "DELETED") this.#statuses.delete(name);
      else this.#statuses.set(name, seenStatus(object));
    }
  }
}

/** An event of a watch, as far as it is read. */
interface WatchEvent {
  readonly type: string;
  readonly object: {
    readonly metadata?: { readonly name?: string; readonly generation?: number };
    readonly status?: {
      readonly observedGeneration?: number;
      readonly conditions?: readonly { readonly type: string; readonly status: string; readonly reason: string }[];
      readonly pods?: { readonly summary?: string };
    };
  };
}

function seenStatus({ metadata, status }: WatchEvent["object"]): SeenStatus {
  const ready = status?.conditions?.find(({ type }) => type === "Ready");
  return {
    isCurrent: status?.observedGeneration === metadata?.generation,
    ready: ready === undefined ? "" : `${ready.status} ${ready.reason}`,
    pods: status?.pods?.summary ?? "",
    seenMs: Date.now(),
  };
}
