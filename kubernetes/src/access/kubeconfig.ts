// Reads kubeconfig files and merges them as kubectl does: the first file that names an entry wins,
// relative paths begin at the folder of their file, and files of a list may be missing.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import { LineCounter, parseAllDocuments } from "yaml";

import { fieldsOf, type Mapping, mappingOf, mappingsOf, textOf } from "../mapping.ts";
import type { CredentialProgram } from "./credential-program.ts";

/** Fields of clusters and users that are paths. */
const PATH_FIELDS = ["certificate-authority", "client-certificate", "client-key", "tokenFile"];

/**
 * Fields of a user that @kubernetes/client-node ignores: requests would be sent as another user than
 * the one that is meant.
 */
const UNSUPPORTED_FIELDS = ["as-groups", "as-uid", "as-user-extra"];

/** Fields of a cluster that a program receives when it asks, besides the certificate authority. */
const CLUSTER_FIELDS = ["server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression"];

/** Name of the cluster extension that only programs read. */
const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

/** Version of ExecCredential when the kubeconfig names none. */
const EXEC_API_VERSION = "client.authentication.k8s.io/v1";

/** Namespace of requests whose context names none, as for kubectl. */
const DEFAULT_NAMESPACE = "default";

/** The chosen context. */
export interface Kubeconfig {
  /** A kubeconfig of the context alone, as JSON, with absolute paths; without its program. */
  readonly text: string;
  /** The cluster of the context, with absolute paths. */
  readonly cluster: Mapping;
  /** The user of the context, with absolute paths; without its program, and without a token that a file gives. */
  readonly user: Mapping;
  /** The address of the API server, without a slash at its end. */
  readonly server: string;
  /** The namespace of the context; `default` when it names none. */
  readonly namespace: string;
  /** The proxy in front of the API server; undefined when there is none. */
  readonly proxyUrl: string | undefined;
  /** File with the token of the user, which may be replaced at any time; undefined without one. */
  readonly tokenFile: string | undefined;
  /** Program that makes the user's credentials; undefined without one. */
  readonly program: CredentialProgram | undefined;
}

/**
 * Reads the files, of which a context other than the current one may be chosen; fails with
 * SOURCE_UNREADABLE when none exists or they cannot be used.
 */
export async function readKubeconfig(paths: readonly string[], chosen?: string): Promise<Kubeconfig> {
  const unusable = (reason: string): Error => unusableKubeconfig(paths, reason);
  const files = (await Promise.all(paths.map((path) => readOne(path, paths)))).filter((file) => file !== undefined);
  if (files.length === 0) throw unusable(paths.length === 1 ? "it does not exist" : "none of them exists");
  const current =
    chosen ?? files.map(({ content }) => textOf(content["current-context"])).find((name) => name !== undefined);
  if (current === undefined) throw unusable("no current context is set");
  const context = findEntry(files, "context", current);
  if (context === undefined)
    throw unusable(`there is no context "${current}"${chosen === undefined ? ", which is the current one" : ""}`);
  const which = chosen === undefined ? `the current context "${current}"` : `the context "${current}"`;
  const cluster = findEntry(files, "cluster", context["cluster"]) ?? {};
  const server = textOf(cluster["server"]);
  if (server === undefined) throw unusable(`${which} names no cluster with a server`);
  const user = findEntry(files, "user", context["user"]);
  if (user === undefined && textOf(context["user"]) !== undefined)
    throw unusable(`${which} names a user that does not exist`);
  const { exec, token, ...credentials } = user ?? {};
  const unsupported = UNSUPPORTED_FIELDS.find((field) => credentials[field] !== undefined);
  if (unsupported !== undefined) throw unusable(`${unsupported} of the current user is not supported`);
  const tokenFile = textOf(credentials["tokenFile"]);
  // The package requires this field for a connection without TLS; kubectl does not.
  const plain = server.startsWith("http:") ? { "insecure-skip-tls-verify": true } : {};
  const written = tokenFile === undefined ? { ...credentials, token } : credentials;
  return {
    text: JSON.stringify({
      "current-context": "current",
      contexts: [{ name: "current", context: { cluster: "current", user: "current" } }],
      clusters: [{ name: "current", cluster: { ...cluster, ...plain } }],
      users: [{ name: "current", user: written }],
    }),
    cluster,
    user: written,
    server: server.replace(/\/+$/, ""),
    namespace: textOf(context["namespace"]) ?? DEFAULT_NAMESPACE,
    proxyUrl: textOf(cluster["proxy-url"]),
    tokenFile,
    program: await programOf(mappingOf(exec), cluster, paths),
  };
}

/** The error of files that cannot be used. */
export function unusableKubeconfig(
  paths: readonly string[],
  reason: string,
  cause?: unknown,
): ServiceError<"SOURCE_UNREADABLE"> {
  return new ServiceError("SOURCE_UNREADABLE", `Cannot use the kubeconfig ${paths.join(", ")}: ${reason}`, { cause });
}

interface KubeconfigFile {
  readonly folder: string;
  readonly content: Mapping;
}

/** undefined when the file does not exist. */
async function readOne(path: string, paths: readonly string[]): Promise<KubeconfigFile | undefined> {
  try {
    const lineCounter = new LineCounter();
    // As kubectl: YAML 1.1, the last of equal keys, the first document.
    const options = {
      version: "1.1",
      uniqueKeys: false,
      prettyErrors: false,
      logLevel: "silent",
      lineCounter,
    } as const;
    const [document] = parseAllDocuments(await readFile(path, "utf8"), options);
    const [error] = document?.errors ?? [];
    if (error !== undefined) {
      const { line } = lineCounter.linePos(error.pos[0]);
      throw unusableKubeconfig(paths, `${path}:${line}: not valid YAML: ${error.message}`);
    }
    const content = mappingOf(document?.toJS() ?? {});
    if (content === undefined) throw unusableKubeconfig(paths, `${path} is not a mapping`);
    return { folder: dirname(path), content };
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return undefined;
    throw cause instanceof ServiceError ? cause : unusableKubeconfig(paths, describeError(cause), cause);
  }
}

/** The first entry of this name in the list of this kind, with absolute paths. */
function findEntry(
  files: readonly KubeconfigFile[],
  kind: "cluster" | "context" | "user",
  name: unknown,
): Mapping | undefined {
  for (const { folder, content } of files) {
    const entry = mappingsOf(content[`${kind}s`]).find((named) => named["name"] === name);
    if (entry !== undefined) return withAbsolutePaths(fieldsOf(entry[kind]), folder);
  }
  return undefined;
}

function withAbsolutePaths(body: Mapping, folder: string): Mapping {
  const paths = PATH_FIELDS.flatMap((field) => {
    const path = textOf(body[field]);
    return path === undefined ? [] : [[field, resolve(folder, path)]];
  });
  const exec = mappingOf(body["exec"]);
  const command = textOf(exec?.["command"]);
  // A bare name is searched on the PATH.
  const program = command?.includes("/") === true ? { exec: { ...exec, command: resolve(folder, command) } } : {};
  return { ...body, ...(Object.fromEntries(paths) as Mapping), ...program };
}

async function programOf(
  exec: Mapping | undefined,
  cluster: Mapping,
  paths: readonly string[],
): Promise<CredentialProgram | undefined> {
  if (exec === undefined) return undefined;
  const command = textOf(exec["command"]);
  if (command === undefined) throw unusableKubeconfig(paths, "the exec of the current user names no command");
  return {
    command,
    args: (Array.isArray(exec["args"]) ? exec["args"] : []).map(String),
    env: Object.fromEntries(mappingsOf(exec["env"]).map(({ name, value }) => [String(name), scalarOf(value)])),
    apiVersion: textOf(exec["apiVersion"]) ?? EXEC_API_VERSION,
    cluster: exec["provideClusterInfo"] === true ? await clusterInfoOf(cluster, paths) : undefined,
    installHint: textOf(exec["installHint"])?.trim().replaceAll(/\s+/g, " ") ?? "",
  };
}

function scalarOf(value: unknown): string {
  return typeof value === "number" || typeof value === "boolean" ? String(value) : (textOf(value) ?? "");
}

/** The cluster in the form of client.authentication.k8s.io. */
async function clusterInfoOf(cluster: Mapping, paths: readonly string[]): Promise<Mapping> {
  const extension = mappingsOf(cluster["extensions"]).find(({ name }) => name === EXEC_EXTENSION);
  const config: unknown = extension?.["extension"];
  const authority = await authorityOf(cluster, paths);
  return {
    ...Object.fromEntries(CLUSTER_FIELDS.filter((name) => Boolean(cluster[name])).map((name) => [name, cluster[name]])),
    ...(authority !== undefined && { "certificate-authority-data": authority }),
    ...(config !== undefined && { config }),
  };
}

/** The certificates of the cluster's authority, PEM in base64. */
async function authorityOf(cluster: Mapping, paths: readonly string[]): Promise<string | undefined> {
  const file = textOf(cluster["certificate-authority"]);
  const data = textOf(cluster["certificate-authority-data"]);
  if (data !== undefined || file === undefined) return data;
  try {
    return await readFile(file, "base64");
  } catch (cause) {
    throw unusableKubeconfig(paths, describeError(cause), cause);
  }
}
