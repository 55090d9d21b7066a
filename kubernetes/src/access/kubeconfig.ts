// Kubeconfig files as kubectl takes them together: what an earlier file names stands, relative
// paths begin at the folder of their file, and files of a list may be missing. The result is one
// document for the package that authenticates, and what that package does not know how to do.
import { readFile } from "node:fs/promises";
import { dirname, resolve } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError, ServiceError } from "@weir/common/errors/service-error";
import { readYamlDocuments } from "@weir/limits/go-yaml/json-documents";

import type { CredentialProgram } from "./credential-program.ts";

/** Fields that hold paths, by the list whose entries have them. */
const PATH_FIELDS = {
  clusters: ["certificate-authority"],
  users: ["client-certificate", "client-key", "tokenFile"],
  contexts: [],
} as const;

/**
 * Fields of a user that the package passes over: the requests would be those of another user than
 * the one that is meant.
 */
const UNSUPPORTED_FIELDS = ["as-groups", "as-uid", "as-user-extra"];

/**
 * What a program is told of the cluster when it asks, besides the certificates of its authority.
 */
const CLUSTER_FIELDS = ["server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url", "disable-compression"];

/** Name of the part of a cluster that is for programs alone. */
const EXEC_EXTENSION = "client.authentication.k8s.io/exec";

/** Version that a program is told when the kubeconfig names none. */
const EXEC_API_VERSION = "client.authentication.k8s.io/v1";

/** What the files say about the current context. */
export interface Kubeconfig {
  /** Everything in one document, as JSON, with absolute paths. */
  readonly text: string;
  /** The address of the API server, without a slash at its end. */
  readonly server: string;
  readonly isProxied: boolean;
  /**
   * File in which the user's token is; somebody may replace it at any time. undefined when the
   * token is elsewhere, or there is none.
   */
  readonly tokenFile: string | undefined;
  /** Program that makes the user's credentials; undefined when there is none. */
  readonly program: CredentialProgram | undefined;
}

/** Reads the files; fails with SOURCE_UNREADABLE when they make no sense, or none is there. */
export async function readKubeconfig(paths: readonly string[]): Promise<Kubeconfig> {
  const files = (await Promise.all(paths.map((path) => readOne(path, paths)))).filter((file) => file !== undefined);
  if (files.length === 0)
    throw unusableKubeconfig(paths, paths.length === 1 ? "it does not exist" : "none of them exists");
  const clusters = merge(files, "clusters");
  const users = merge(files, "users");
  const contexts = merge(files, "contexts");
  const current = files.map((file) => file.content["current-context"]).find(isText);
  if (current === undefined) throw unusableKubeconfig(paths, "no current context is set");
  const context = bodyOf(contexts, current, "context");
  if (context === undefined)
    throw unusableKubeconfig(paths, `there is no context "${current}", which is the current one`);
  const cluster = bodyOf(clusters, context["cluster"], "cluster");
  if (!isText(cluster?.["server"])) {
    throw unusableKubeconfig(paths, `the current context "${current}" names no cluster with a server`);
  }
  const user = bodyOf(users, context["user"], "user");
  if (user === undefined && isText(context["user"])) {
    throw unusableKubeconfig(paths, `the current context "${current}" names a user that is not there`);
  }
  const unsupported = UNSUPPORTED_FIELDS.find((field) => user?.[field] !== undefined);
  if (unsupported !== undefined) throw unusableKubeconfig(paths, `${unsupported} of the current user is not supported`);
  const tokenFile = user?.["tokenFile"];
  return {
    text: JSON.stringify({
      "current-context": current,
      clusters: clusters.map(allowPlain),
      users: users.map(forPackage),
      contexts,
    }),
    server: cluster["server"].replace(/\/+$/, ""),
    isProxied: isText(cluster["proxy-url"]),
    tokenFile: isText(tokenFile) ? tokenFile : undefined,
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

type Mapping = Readonly<Record<string, unknown>>;

interface File {
  readonly folder: string;
  readonly content: Mapping;
}

/** undefined when the file is not there. */
async function readOne(path: string, paths: readonly string[]): Promise<File | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    if (errorCode(cause) === "ENOENT") return undefined;
    throw unusableKubeconfig(paths, describeError(cause), cause);
  }
  const [document] = readYamlDocuments(text, { directives: "read" });
  const [problem] = document?.problems ?? [];
  if (problem !== undefined) throw unusableKubeconfig(paths, `${path}:${problem.line}: ${problem.message}`);
  if (document === undefined || document.value === null) return { folder: dirname(path), content: {} };
  const content = mappingOf(document.value);
  if (content === undefined) throw unusableKubeconfig(paths, `${path} is not a mapping`);
  return { folder: dirname(path), content };
}

/** The entries of all files; of those with one name the first. */
function merge(files: readonly File[], list: keyof typeof PATH_FIELDS): readonly Mapping[] {
  const entries = new Map<unknown, Mapping>();
  for (const { folder, content } of files) {
    const named: unknown = content[list];
    if (!Array.isArray(named)) continue;
    for (const entry of named.map(mappingOf)) {
      if (entry !== undefined && !entries.has(entry["name"]))
        entries.set(entry["name"], withAbsolutePaths(entry, folder, list));
    }
  }
  return [...entries.values()];
}

function withAbsolutePaths(entry: Mapping, folder: string, list: keyof typeof PATH_FIELDS): Mapping {
  const kind = list.slice(0, -1);
  const body: Record<string, unknown> = { ...mappingOf(entry[kind]) };
  for (const field of PATH_FIELDS[list]) {
    const path = body[field];
    if (isText(path)) body[field] = resolve(folder, path);
  }
  const exec = mappingOf(body["exec"]);
  const command = exec?.["command"];
  // A bare name is looked for on the PATH.
  if (isText(command) && command.includes("/")) body["exec"] = { ...exec, command: resolve(folder, command) };
  return { ...entry, [kind]: body };
}

function bodyOf(entries: readonly Mapping[], name: unknown, kind: string): Mapping | undefined {
  return mappingOf(entries.find((entry) => entry["name"] === name)?.[kind]);
}

/**
 * The package wants this said before it uses a connection without TLS; kubectl does not, and there
 * is nothing else to verify then.
 */
function allowPlain(entry: Mapping): Mapping {
  const cluster = mappingOf(entry["cluster"]);
  const isPlain = isText(cluster?.["server"]) && cluster["server"].startsWith("http:");
  return isPlain ? { ...entry, cluster: { ...cluster, "insecure-skip-tls-verify": true } } : entry;
}

/** Without the program, which is run here. Of a token and a file with a token the file counts. */
function forPackage(entry: Mapping): Mapping {
  const user = mappingOf(entry["user"]);
  if (user === undefined) return entry;
  const { exec: _exec, token, ...rest } = user;
  return { ...entry, user: isText(user["tokenFile"]) || token === undefined ? rest : { ...rest, token } };
}

async function programOf(
  exec: Mapping | undefined,
  cluster: Mapping,
  paths: readonly string[],
): Promise<CredentialProgram | undefined> {
  if (exec === undefined) return undefined;
  const { command, args, env, apiVersion, provideClusterInfo, installHint } = exec;
  if (!isText(command)) throw unusableKubeconfig(paths, "the exec of the current user names no command");
  const variables = (Array.isArray(env) ? env : [])
    .map(mappingOf)
    .map((variable) => [String(variable?.["name"]), isNothing(variable?.["value"]) ? "" : String(variable?.["value"])]);
  return {
    command,
    args: (Array.isArray(args) ? args : []).map(String),
    env: Object.fromEntries(variables) as Readonly<Record<string, string>>,
    apiVersion: isText(apiVersion) ? apiVersion : EXEC_API_VERSION,
    cluster: provideClusterInfo === true ? await clusterInfoOf(cluster, paths) : undefined,
    installHint: isText(installHint) ? installHint.trim().replaceAll(/\s+/g, " ") : "",
  };
}

/** The cluster in the form of client.authentication.k8s.io. */
async function clusterInfoOf(cluster: Mapping, paths: readonly string[]): Promise<Mapping> {
  const extensions = Array.isArray(cluster["extensions"]) ? cluster["extensions"].map(mappingOf) : [];
  const config = extensions.find((extension) => extension?.["name"] === EXEC_EXTENSION)?.["extension"];
  const authority = await authorityOf(cluster, paths);
  return {
    ...Object.fromEntries(CLUSTER_FIELDS.filter((name) => Boolean(cluster[name])).map((name) => [name, cluster[name]])),
    ...(authority !== undefined && { "certificate-authority-data": authority }),
    ...(config !== undefined && { config }),
  };
}

/** The certificates of the cluster's authority, PEM in base64. */
async function authorityOf(cluster: Mapping, paths: readonly string[]): Promise<string | undefined> {
  const { "certificate-authority": file, "certificate-authority-data": data } = cluster;
  if (isText(data)) return data;
  if (!isText(file)) return undefined;
  try {
    return await readFile(file, "base64");
  } catch (cause) {
    throw unusableKubeconfig(paths, describeError(cause), cause);
  }
}

function mappingOf(value: unknown): Mapping | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Mapping) : undefined;
}

function isNothing(value: unknown): boolean {
  return value === undefined || value === null;
}

/** kubectl writes an empty text for what is not there. */
function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}
