// Opens the cluster of a command, and reads what it has of a kind.
import type { Env } from "@weir/common/settings/read-env";
import { type ClusterAccess, namespaceOf, openClusterAccess } from "@weir/kubernetes/access/cluster-access";
import { ApiClient } from "@weir/kubernetes/client/api-client";
import type { ApiResource } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { ObjectClient } from "@weir/kubernetes/client/object-client";

import { type ClusterChoice, connectionOf } from "./cluster-choice.ts";

/** Time limits of requests, in milliseconds: a person waits, perhaps for a log-in with a browser. */
const TIMEOUTS = { answerTimeoutMs: 30_000, silenceTimeoutMs: 30_000, slowAfterMs: 30_000 } as const;

/** Objects of one page of a list. */
const PAGE_SIZE = 500;

/** A cluster that is open until `close`. */
export interface Cluster {
  /** The namespace of the context. */
  readonly namespace: string;
  readonly access: ClusterAccess;
  readonly objects: Pick<ObjectClient, "get" | "apply">;
  /** All objects of a resource; fails with ApiFailure. */
  readonly list: (resource: ApiResource, signal: AbortSignal) => Promise<readonly KubernetesObject[]>;
  readonly close: () => Promise<void>;
}

/** Opens the cluster; fails with SOURCE_UNREADABLE when its kubeconfig cannot be used. */
export async function openCluster(choice: ClusterChoice, env: Env): Promise<Cluster> {
  const connection = connectionOf(choice, env);
  const namespace = await namespaceOf(connection);
  const access = await openClusterAccess(connection, Date.now);
  const client = new ApiClient(access, TIMEOUTS, { userAgent: "weir" });
  return {
    namespace,
    access,
    objects: new ObjectClient(client),
    list: async (resource, signal) => await listAll(client, resource, signal),
    close: async () => client.close(),
  };
}

async function listAll(
  client: ApiClient,
  resource: ApiResource,
  signal: AbortSignal,
): Promise<readonly KubernetesObject[]> {
  const found: KubernetesObject[] = [];
  for (let continueToken = ""; ;) {
    const page = await client.list({ verb: "list", resource }, { limit: PAGE_SIZE, continueToken }, signal);
    found.push(...page.objects);
    if (page.continueToken === "") return found;
    continueToken = page.continueToken;
  }
}
