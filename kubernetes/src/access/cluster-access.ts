// Gives requests the address of the API server and their credentials: in a cluster from the files of
// the service account, elsewhere from kubeconfig files.
import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { homedir } from "node:os";
import { join } from "node:path";

import type { KubeConfig } from "@kubernetes/client-node";
import { describeError } from "@weir/common/errors/service-error";

import { type ProgramCredential, runCredentialProgram } from "./credential-program.ts";
import { kubeconfigOptions, needsPackage } from "./kubeconfig-options.ts";
import { type Kubeconfig, readKubeconfig, unusableKubeconfig } from "./kubeconfig.ts";

/** The folder in which Kubernetes mounts the files of a pod's service account. */
const SERVICE_ACCOUNT_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";

/** How long kubeconfig files and the credentials of their programs are kept, in milliseconds. */
const KUBECONFIG_AGE_MAX_MS = 60_000;

/**
 * Time after which a program of a kubeconfig is killed, in milliseconds; enough for a person who has
 * to log in with a browser.
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
  | {
      readonly kind: "kubeconfig";
      /** Later files add to earlier ones; none means the file in the home folder. */
      readonly paths: readonly string[];
      /** The context; the current one when it is absent. */
      readonly context?: string | undefined;
    };

/** TLS options of connections to the API server; certificates and keys are PEM. */
export interface ClusterTls {
  readonly ca: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
  /** Name in the certificate of the server; undefined when it is that of the address. */
  readonly servername?: string | undefined;
  /** False when the certificate of the server is not verified. */
  readonly rejectUnauthorized?: boolean;
}

/** The server, the credentials and the connection settings that each request needs. */
export interface RequestAccess {
  /** The address of the server, without a slash at its end. */
  readonly server: string;
  /** Headers with the credentials. */
  readonly headers: Readonly<Record<string, string>>;
  readonly tls: ClusterTls;
  /** Proxy for all requests; undefined when they go directly to the server. */
  readonly proxyUrl: string | undefined;
}

export interface ClusterAccess {
  /** Returns the access for the next request. Certificates and tokens are those in the files at this moment. */
  forRequest(): Promise<RequestAccess>;
  /** Forgets credentials that the server did not accept. */
  renew(): void;
}

/** Options of an access, for tests. */
export interface AccessOptions {
  /** How long a program of the kubeconfig may run, in milliseconds. */
  readonly programTimeoutMs?: number;
  /** Milliseconds by a clock that only goes forward, for the age of what was read. */
  readonly monotonicMs?: () => number;
}

/**
 * Opens the access; fails with SOURCE_UNREADABLE when a kubeconfig cannot be used. `clock` is for
 * the expiry of credentials, in milliseconds since the epoch.
 */
export async function openClusterAccess(
  connection: ClusterConnection,
  clock: () => number,
  { programTimeoutMs = PROGRAM_TIMEOUT_MS, monotonicMs = () => performance.now() }: AccessOptions = {},
): Promise<ClusterAccess> {
  if (connection.kind === "in-cluster") return serviceAccountAccess(connection);
  const access = new KubeconfigAccess(connection, clock, { programTimeoutMs, monotonicMs });
  await access.load();
  return access;
}

/**
 * The namespace of requests that name none: that of the kubeconfig's context, or of the pod. Fails
 * with SOURCE_UNREADABLE when a kubeconfig cannot be used.
 */
export async function namespaceOf(connection: ClusterConnection): Promise<string> {
  if (connection.kind === "kubeconfig")
    return (await readKubeconfig(pathsOf(connection.paths), connection.context)).namespace;
  return (await readFile(join(connection.folder ?? SERVICE_ACCOUNT_FOLDER, "namespace"), "utf8")).trim();
}

function pathsOf(paths: readonly string[]): readonly string[] {
  return paths.length === 0 ? [join(homedir(), ".kube", "config")] : paths;
}

/** Reads both files for every request: requests are rare, and kubelet replaces the token in time. */
function serviceAccountAccess({
  host,
  port,
  folder = SERVICE_ACCOUNT_FOLDER,
}: Extract<ClusterConnection, { readonly kind: "in-cluster" }>): ClusterAccess {
  const server = `https://${host.includes(":") ? `[${host}]` : host}:${port}`;
  return {
    forRequest: async () => {
      const [token = "", ca] = await Promise.all(
        ["token", "ca.crt"].map((name) => readFile(join(folder, name), "utf8")),
      );
      return { server, headers: { authorization: `Bearer ${token.trim()}` }, tls: { ca }, proxyUrl: undefined };
    },
    renew: () => undefined,
  };
}

/** The content of the files at one moment. */
interface LoadedConfig {
  /** Undefined when the credentials are in the kubeconfig and its files. */
  readonly config: KubeConfig | undefined;
  readonly kubeconfig: Kubeconfig;
  readonly loadedMs: number;
  /** The last answer of the program. */
  credential: ProgramCredential | undefined;
}

class KubeconfigAccess implements ClusterAccess {
  readonly #paths: readonly string[];
  readonly #context: string | undefined;
  readonly #clock: () => number;
  readonly #options: Required<AccessOptions>;
  #loaded: LoadedConfig | undefined;
  /** The answer to all requests that arrive while it is prepared. */
  #pending: Promise<RequestAccess> | undefined;

  constructor(
    { paths, context }: Extract<ClusterConnection, { readonly kind: "kubeconfig" }>,
    clock: () => number,
    options: Required<AccessOptions>,
  ) {
    this.#paths = pathsOf(paths);
    this.#context = context;
    this.#clock = clock;
    this.#options = options;
  }

  async load(): Promise<LoadedConfig> {
    const nowMs = this.#options.monotonicMs();
    if (this.#loaded !== undefined && nowMs - this.#loaded.loadedMs < KUBECONFIG_AGE_MAX_MS) return this.#loaded;
    const kubeconfig = await readKubeconfig(this.#paths, this.#context);
    const config = needsPackage(kubeconfig.user) ? await this.#authenticator(kubeconfig) : undefined;
    this.#loaded = { config, kubeconfig, loadedMs: nowMs, credential: undefined };
    return this.#loaded;
  }

  /** Loads a large package, which takes a second and 40 MB: only for those who need it. */
  async #authenticator({ text }: Kubeconfig): Promise<KubeConfig> {
    const { KubeConfig } = await import("@kubernetes/client-node");
    const config = new KubeConfig();
    try {
      config.loadFromString(text);
    } catch (cause) {
      throw unusableKubeconfig(this.#paths, describeError(cause), cause);
    }
    return config;
  }

  /** Shares one run of a program among all requests: a hundred namespaces are not a hundred programs. */
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
    const { server, proxyUrl, tokenFile, cluster, user } = loaded.kubeconfig;
    const credential = await this.#runProgram(loaded);
    const options: RequestOptions = loaded.config === undefined ? await kubeconfigOptions(cluster, user) : {};
    await loaded.config?.applyToHTTPSOptions(options);
    const { Authorization: written, ...headers } = (options.headers ?? {}) as Record<string, string>;
    const authorization =
      tokenFile === undefined
        ? (written ?? bearer(credential?.token) ?? basicAuth(options.auth))
        : bearer(await readFile(tokenFile, "utf8"));
    const { ca, cert, key, servername, rejectUnauthorized } = options;
    return {
      server,
      headers: authorization === undefined ? headers : { ...headers, authorization },
      tls: {
        ca: pemOf(ca),
        // The certificate and the key in the kubeconfig itself win over those that its program returns.
        cert: pemOf(cert) ?? credential?.cert,
        key: pemOf(key) ?? credential?.key,
        servername,
        ...(rejectUnauthorized !== undefined && { rejectUnauthorized }),
      },
      proxyUrl,
    };
  }

  /** The answer of the program, run again only when its last credentials have expired. */
  async #runProgram(loaded: LoadedConfig): Promise<ProgramCredential | undefined> {
    const { program } = loaded.kubeconfig;
    if (program === undefined) return undefined;
    if (loaded.credential === undefined || this.#clock() >= (loaded.credential.expiresMs ?? Infinity))
      loaded.credential = await runCredentialProgram(program, { timeoutMs: this.#options.programTimeoutMs });
    return loaded.credential;
  }
}

function bearer(token: string | undefined): string | undefined {
  return token === undefined ? undefined : `Bearer ${token.trim()}`;
}

/** Files are read, and base64 is decoded, into buffers. */
function pemOf(value: unknown): string | undefined {
  return Buffer.isBuffer(value) ? value.toString() : undefined;
}

/** `auth` is a name and a password, separated by a colon. */
function basicAuth(auth: string | null | undefined): string | undefined {
  return typeof auth === "string" ? `Basic ${Buffer.from(auth).toString("base64")}` : undefined;
}
