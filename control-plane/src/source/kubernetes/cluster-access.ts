// Where the API server is and how requests prove who sends them: inside a cluster from the files of the service account, outside from kubeconfig files.
// The package that reads kubeconfig files is large, so it is loaded only for those.
import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";

import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { KubeConfig } from "@kubernetes/client-node";

/** Where Kubernetes mounts the files of a pod's service account. */
const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** How long kubeconfig files, and what their programs answered, are taken to be as they were, in milliseconds. */
const KUBECONFIG_AGE_MAX_MS = 60_000;

/** How to find the API server. */
export type ClusterConnection =
  | {
      readonly kind: "in-cluster";
      readonly host: string;
      readonly port: number;
      /** Folder of `token` and `ca.crt`. */
      readonly folder?: string;
    }
  /** Later files add to earlier ones; none means the file in the home folder. */
  | { readonly kind: "kubeconfig"; readonly paths: readonly string[] };

/** What each request needs. */
export interface RequestAccess {
  /** The address of the server, without a slash at its end. */
  readonly server: string;
  readonly options: RequestOptions;
}

/** Access to one cluster. */
export interface ClusterAccess {
  /** What the next request needs. Certificates and tokens are those that are in the files now. */
  forRequest(): Promise<RequestAccess>;
  /** Forgets credentials that the server did not accept. */
  renew(): void;
}

/** Opens the access; fails with SOURCE_UNREADABLE when a kubeconfig cannot be used. */
export async function openClusterAccess(connection: ClusterConnection, clock: () => number): Promise<ClusterAccess> {
  if (connection.kind === "in-cluster") return new ServiceAccountAccess(connection);
  const paths = connection.paths.length === 0 ? [join(homedir(), ".kube", "config")] : connection.paths;
  const access = new KubeconfigAccess(paths, clock);
  await access.load();
  return access;
}

/** Reads both files for every request: those are rare, and kubelet replaces the token long before it ends. */
class ServiceAccountAccess implements ClusterAccess {
  readonly #server: string;
  readonly #folder: string;

  constructor({ host, port, folder }: Extract<ClusterConnection, { readonly kind: "in-cluster" }>) {
    this.#server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
    this.#folder = folder ?? SERVICE_ACCOUNT_FOLDER;
  }

  async forRequest(): Promise<RequestAccess> {
    const [token, ca] = await Promise.all(["token", "ca.crt"].map((name) => readFile(join(this.#folder, name), "utf8")));
    return { server: this.#server, options: { ca, headers: { authorization: `Bearer ${token?.trim()}` } } };
  }

  renew(): void {
    // Nothing is remembered.
  }
}

/** What kubeconfig files said, and when. */
interface LoadedConfig {
  readonly config: KubeConfig;
  readonly server: string;
  readonly isProxied: boolean;
  readonly loadedMs: number;
}

class KubeconfigAccess implements ClusterAccess {
  readonly #paths: readonly string[];
  readonly #clock: () => number;
  #loaded: LoadedConfig | undefined;

  constructor(paths: readonly string[], clock: () => number) {
    this.#paths = paths;
    this.#clock = clock;
  }

  async load(): Promise<LoadedConfig> {
    const nowMs = this.#clock();
    if (this.#loaded !== undefined && nowMs - this.#loaded.loadedMs < KUBECONFIG_AGE_MAX_MS) return this.#loaded;
    const { KubeConfig } = await import("@kubernetes/client-node");
    const config = new KubeConfig();
    try {
      this.#paths.forEach((path, index) => {
        if (index === 0) {
          config.loadFromFile(path);
          return;
        }
        const more = new KubeConfig();
        more.loadFromFile(path);
        // As kubectl has it: what an earlier file says stands.
        config.mergeConfig(more, true);
      });
    } catch (cause) {
      throw unusable(this.#paths, describeError(cause), cause);
    }
    const cluster = config.getCurrentCluster();
    if (cluster === null) throw unusable(this.#paths, `its current context "${config.getCurrentContext()}" names no cluster`);
    this.#loaded = { config, server: cluster.server.replace(/\/+$/, ""), isProxied: cluster.proxyUrl !== undefined, loadedMs: nowMs };
    return this.#loaded;
  }

  async forRequest(): Promise<RequestAccess> {
    const { config, server, isProxied } = await this.load();
    const options: RequestOptions = {};
    await config.applyToHTTPSOptions(options);
    // Through a proxy only the agent of the package knows the way; otherwise ours keeps the connection.
    if (!isProxied) delete options.agent;
    return { server, options };
  }

  renew(): void {
    this.#loaded = undefined;
  }
}

function unusable(paths: readonly string[], reason: string, cause?: unknown): ServiceError<"SOURCE_UNREADABLE"> {
  return new ServiceError("SOURCE_UNREADABLE", `Cannot use the kubeconfig ${paths.join(", ")}: ${reason}`, { cause });
}
