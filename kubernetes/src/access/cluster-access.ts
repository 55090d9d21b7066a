// Where the API server is and how requests prove who sends them: inside a cluster from the files of
// the service account, outside from kubeconfig files. The package that reads kubeconfig files is
// large, so it is loaded only for those.
import { readFile } from "node:fs/promises";
import type { OutgoingHttpHeaders } from "node:http";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";

import { describeError } from "@weir/common/errors/service-error";
import type { KubeConfig } from "@kubernetes/client-node";

import { type ProgramCredential, runCredentialProgram } from "./credential-program.ts";
import { type Kubeconfig, readKubeconfig, unusableKubeconfig } from "./kubeconfig.ts";

/** Where Kubernetes mounts the files of a pod's service account. */
const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/**
 * How long kubeconfig files, and what their programs answered, are taken to be as they were, in
 * milliseconds.
 */
const KUBECONFIG_AGE_MAX_MS = 60_000;

/**
 * After so long a program of a kubeconfig is killed, in milliseconds; enough for a person who is
 * sent to a browser to log in.
 */
const PROGRAM_TIMEOUT_MS = 60_000;

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

/**
 * Opens the access; fails with SOURCE_UNREADABLE when a kubeconfig cannot be used. A program of the
 * kubeconfig is killed after `programTimeoutMs`.
 */
export async function openClusterAccess(
  connection: ClusterConnection,
  clock: () => number,
  { programTimeoutMs }: { readonly programTimeoutMs: number } = { programTimeoutMs: PROGRAM_TIMEOUT_MS },
): Promise<ClusterAccess> {
  if (connection.kind === "in-cluster") return new ServiceAccountAccess(connection);
  const paths = connection.paths.length === 0 ? [join(homedir(), ".kube", "config")] : connection.paths;
  const access = new KubeconfigAccess(paths, clock, programTimeoutMs);
  await access.load();
  return access;
}

/**
 * Reads both files for every request: those are rare, and kubelet replaces the token long before it
 * ends.
 */
class ServiceAccountAccess implements ClusterAccess {
  readonly #server: string;
  readonly #folder: string;

  constructor({ host, port, folder }: Extract<ClusterConnection, { readonly kind: "in-cluster" }>) {
    this.#server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
    this.#folder = folder ?? SERVICE_ACCOUNT_FOLDER;
  }

  async forRequest(): Promise<RequestAccess> {
    const [token, ca] = await Promise.all(
      ["token", "ca.crt"].map((name) => readFile(join(this.#folder, name), "utf8")),
    );
    return { server: this.#server, options: { ca, headers: { authorization: `Bearer ${token?.trim()}` } } };
  }

  renew(): void {
    // Nothing is remembered.
  }
}

/** What kubeconfig files said, and when. */
interface LoadedConfig {
  readonly config: KubeConfig;
  readonly kubeconfig: Kubeconfig;
  readonly loadedMs: number;
  /** What the program answered at last. */
  credential: ProgramCredential | undefined;
}

class KubeconfigAccess implements ClusterAccess {
  readonly #paths: readonly string[];
  readonly #clock: () => number;
  #loaded: LoadedConfig | undefined;
  readonly #programTimeoutMs: number;
  /** What requests need, in the making. */
  #pending: Promise<RequestAccess> | undefined;

  constructor(paths: readonly string[], clock: () => number, programTimeoutMs: number) {
    this.#paths = paths;
    this.#clock = clock;
    this.#programTimeoutMs = programTimeoutMs;
  }

  async load(): Promise<LoadedConfig> {
    const nowMs = this.#clock();
    if (this.#loaded !== undefined && nowMs - this.#loaded.loadedMs < KUBECONFIG_AGE_MAX_MS) return this.#loaded;
    const kubeconfig = await readKubeconfig(this.#paths);
    const { KubeConfig } = await import("@kubernetes/client-node");
    const config = new KubeConfig();
    try {
      config.loadFromString(kubeconfig.text);
    } catch (cause) {
      throw unusableKubeconfig(this.#paths, describeError(cause), cause);
    }
    this.#loaded = { config, kubeconfig, loadedMs: nowMs, credential: undefined };
    return this.#loaded;
  }

  /**
   * All who ask while a program of the kubeconfig is at work get what that one answers: a hundred
   * namespaces are not a hundred programs.
   */
  async forRequest(): Promise<RequestAccess> {
    this.#pending ??= this.#prepare().finally(() => {
      this.#pending = undefined;
    });
    return await this.#pending;
  }

  renew(): void {
    this.#loaded = undefined;
  }

  async #prepare(): Promise<RequestAccess> {
    const loaded = await this.load();
    const { server, isProxied, tokenFile } = loaded.kubeconfig;
    const credential = await this.#askProgram(loaded);
    const options: RequestOptions = {};
    // Before the package makes an agent of them, which is the only one that counts through a proxy.
    // It puts those of the kubeconfig itself in their place.
    if (credential?.cert !== undefined) options.cert = credential.cert;
    if (credential?.key !== undefined) options.key = credential.key;
    await loaded.config.applyToHTTPSOptions(options);
    // Through a proxy only the agent of the package knows the way; otherwise ours keeps the
    // connection.
    if (!isProxied) delete options.agent;
    const headers: OutgoingHttpHeaders = { ...(options.headers as OutgoingHttpHeaders) };
    // What stands in the kubeconfig itself counts more than what a program answers.
    if (credential?.token !== undefined) headers["Authorization"] ??= `Bearer ${credential.token}`;
    // Read for every request, as in a cluster. The package knows no such field.
    if (tokenFile !== undefined) headers["Authorization"] = `Bearer ${(await readFile(tokenFile, "utf8")).trim()}`;
    return { server, options: { ...options, headers } };
  }

  /** What the program of the kubeconfig answers, or has answered as long as that is good. */
  async #askProgram(loaded: LoadedConfig): Promise<ProgramCredential | undefined> {
    const { program } = loaded.kubeconfig;
    if (program === undefined) return undefined;
    if (loaded.credential !== undefined && this.#clock() < (loaded.credential.expiresMs ?? Infinity))
      return loaded.credential;
    loaded.credential = await runCredentialProgram(program, { timeoutMs: this.#programTimeoutMs });
    return loaded.credential;
  }
}
