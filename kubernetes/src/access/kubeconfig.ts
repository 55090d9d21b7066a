// Reads kubeconfig files and merges them as kubectl does: the first file that names an entry wins,
// relative paths begin at the folder of their file, and files of a list may be missing.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import { LineCounter, parseAllDocuments } from "yaml";

import { fieldsOf, type Mapping, mappingOf, mappingsOf, textOf } from "../mapping.ts";
import type { CredentialProgram } from "./credential-program.ts";

/** Fields that are paths, by list and by the field that has the body of an entry. */
const LISTS = {
  clusters: { body: "cluster", paths: ["certificate-authority"] },
  users: { body: "user", paths: ["client-certificate", "client-key", "tokenFile"] },
  contexts: { body: "context", paths: [] },
} as const;

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

/** The merged files, and what @kubernetes/client-node does not do for the current context. */
export interface Kubeconfig {
  /** Everything in one document, as JSON, with absolute paths; without programs. */
  readonly text: string;
  /** The address of the API server, without a slash at its end. */
  readonly server: string;
  /** The proxy in front of the API server; undefined when there is none. */
  readonly proxyUrl: string | undefined;
  /**
   * File with the token of the user, which may be replaced at any time; undefined when the user has
   * none.
   */
  readonly tokenFile: string | undefined;
  /** Program that makes the user's credentials; undefined when the user has none. */
  readonly program: CredentialProgram | undefined;
}

/** Reads the files; fails with SOURCE_UNREADABLE when none exists or they cannot be used. */
export async function readKubeconfig(paths: readonly string[]): Promise<Kubeconfig> {
  const unusable = (reason: string): Error => unusableKubeconfig(paths, reason);
  const files = (await Promise.all(paths.map((path) => readOne(path, paths)))).filter((file) => file !== undefined);
  if (files.length === 0) throw unusable(paths.length === 1 ? "it does not exist" : "none of them exists");
  const [clusters, users, contexts] = [merge(files, "clusters"), merge(files, "users"), merge(files, "contexts")];
  const current = files.map(({ content }) => textOf(content["current-context"])).find((name) => name !== undefined);
  if (current === undefined) throw unusable("no current context is set");
  const context = mappingOf(contexts.get(current)?.["context"]);
  if (context === undefined) throw unusable(`there is no context "${current}", which is the current one`);
  const cluster = fieldsOf(clusters.get(context["cluster"])?.["cluster"]);
  const server = textOf(cluster["server"]);
  if (server === undefined) throw unusable(`the current context "${current}" names no cluster with a server`);
  const user = mappingOf(users.get(context["user"])?.["user"]);
  if (user === undefined && textOf(context["user"]) !== undefined)
    throw unusable(`the current context "${current}" names a user that does not exist`);
  const unsupported = UNSUPPORTED_FIELDS.find((field) => user?.[field] !== undefined);
  if (unsupported !== undefined) throw unusable(`${unsupported} of the current user is not supported`);
  return {
    text: JSON.stringify({
      "current-context": current,
      clusters: [...clusters.values()].map(allowPlain),
      users: [...users.values()].map(forPackage),
      contexts: [...contexts.values()],
    }),
    server: server.replace(/\/+$/, ""),
    proxyUrl: textOf(cluster["proxy-url"]),
    tokenFile: textOf(user?.["tokenFile"]),
    program: await programOf(mappingOf(user?.["exec"]), cluster, paths),
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

/** The entries of all files by name. */
function merge(files: readonly KubeconfigFile[], list: keyof typeof LISTS): ReadonlyMap<unknown, Mapping> {
  const entries = new Map<unknown, Mapping>();
  for (const { folder, content } of files) {
    for (const entry of mappingsOf(content[list])) {
      if (!entries.has(entry["name"])) entries.set(entry["name"], withAbsolutePaths(entry, folder, LISTS[list]));
    }
  }
  return entries;
}

function withAbsolutePaths(
  entry: Mapping,
  folder: string,
  { body: field, paths }: (typeof LISTS)[keyof typeof LISTS],
): Mapping {
  const body: Record<string, unknown> = { ...mappingOf(entry[field]) };
  for (const name of paths) {
    const path = textOf(body[name]);
    if (path !== undefined) body[name] = resolve(folder, path);
  }
  const exec = mappingOf(body["exec"]);
  const command = textOf(exec?.["command"]);
  // A bare name is searched on the PATH.
  if (command?.includes("/") === true) body["exec"] = { ...exec, command: resolve(folder, command) };
  return { ...entry, [field]: body };
}

/** @kubernetes/client-node requires this field for a connection without TLS; kubectl does not. */
function allowPlain(entry: Mapping): Mapping {
  const cluster = mappingOf(entry["cluster"]);
  const isPlain = textOf(cluster?.["server"])?.startsWith("http:") === true;
  return isPlain ? { ...entry, cluster: { ...cluster, "insecure-skip-tls-verify": true } } : entry;
}

/** Without the program, which runs here. The file with a token wins over a token. */
function forPackage(entry: Mapping): Mapping {
  const { exec: _exec, token, ...rest } = fieldsOf(entry["user"]);
  return { ...entry, user: textOf(rest["tokenFile"]) === undefined ? { ...rest, token } : rest };
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
