// The command line of `weir rollout`. Pure.
import { readReplicasChoice, REPLICAS_FLAGS, REPLICAS_HELP, type ReplicasChoice } from "../cluster/replicas-choice.ts";
import { readFlags, type ReadFlags } from "../command-line/read-flags.ts";
import { ACCESS_FLAGS, ACCESS_HELP, readAccess, type ServerAccess } from "./server-access.ts";

/** The default address of a control plane. */
const DEFAULT_SERVER = "http://127.0.0.1:8090";

/** Default longest wait, in seconds: connected pods take a second or two. */
const TIMEOUT_SECONDS = 60;

/** The filter; empty texts filter nothing. */
export interface RolloutFilter {
  readonly fleet: string;
  readonly namespace: string;
  readonly name: string;
  /** The least generation of the resource; 0: any. */
  readonly generation: number;
}

export interface RolloutArguments {
  /** Empty when the replicas are those of a cluster. */
  readonly servers: readonly string[];
  /** The replicas in a cluster, when no server is named. */
  readonly replicas?: ReplicasChoice | undefined;
  readonly access: ServerAccess;
  /** `once`: the state now. `watch`: until interrupted. `wait`: until ACKed, or time is up. */
  readonly until: "once" | "watch" | "wait";
  /** For `wait`, in milliseconds. */
  readonly timeoutMs: number;
  readonly format: "table" | "json";
  readonly filter: RolloutFilter;
  /** True if a pod of each fleet of the resource must be connected. */
  readonly needsPods: boolean;
}

/** The text of `weir rollout --help`. */
export const ROLLOUT_HELP = `Shows which rate limit pod has ACKed which version of its limits, and the status of each resource.
Reads the rollout API of the control plane; changes nothing.

Usage: weir rollout [--server URL]… [--watch|--wait] [--fleet NAME] [-n NAMESPACE] [-o table|json] [RESOURCE]

  RESOURCE
      The name of one RateLimitConfig, in the namespace of -n (default: default, with a cluster that of
      the context) or as NAMESPACE/NAME.
      It must exist on every replica.
  --generation NUMBER
      The resource must have at least this metadata.generation: the one that kubectl apply made.
  -s, --server URL
      The HTTP port of a control plane, default ${DEFAULT_SERVER}. May be repeated. Every
      replica knows only the pods that are connected to it: where a name has several addresses, as
      that of a headless Service, all are asked, and the answers are merged.
  -w, --watch
      Shows changes until it is interrupted, and reconnects when a connection breaks. On a terminal the
      table is redrawn, otherwise each change is a line (with -o json: each state an object in one line).
  --wait
      Like --watch, but ends as soon as everything is ACKed, or when the time of --timeout is up.
  --timeout SECONDS
      Longest wait of --wait, default 60.
  --allow-no-pods
      With --wait and a RESOURCE: does not wait until a pod of each fleet that the resource names is
      connected (of any fleet, when it names none).
  --fleet NAME
      Only this fleet.
  -n, --namespace NAMESPACE
      Only resources of this namespace. Every replica must have one in it.
  -o, --output table|json
      table (default) for people, json: one object with everything.
${REPLICAS_HELP}${ACCESS_HELP}  --help
      Shows this.

Exit code: 0 when every resource is served as written and every connected pod has ACKed it, 1 when not,
2 when a server does not answer or the command line is wrong. After --watch and --wait: by the last state.
`;

/**
 * Reads the arguments after the name of the command; a text is the problem. `usesCluster`: the replicas
 * are those of a cluster unless the arguments name servers.
 */
export function parseRolloutArguments(
  args: readonly string[],
  { usesCluster = false }: { readonly usesCluster?: boolean | undefined } = {},
): RolloutArguments | string {
  const flags = readFlags(args, {
    server: { type: "string", short: "s" },
    watch: { type: "boolean", short: "w" },
    wait: { type: "boolean" },
    timeout: { type: "string" },
    fleet: { type: "string" },
    namespace: { type: "string", short: "n" },
    output: { type: "string", short: "o" },
    generation: { type: "string" },
    "allow-no-pods": { type: "boolean" },
    ...REPLICAS_FLAGS,
    ...ACCESS_FLAGS,
  });
  if (typeof flags === "string") return flags;
  if (flags.words.length > 1) return `one resource can be named at most, there are ${flags.words.length}`;
  if (flags.has("watch") && flags.has("wait")) return "--watch and --wait do not go together";
  const timeout = flags.last("timeout") ?? String(TIMEOUT_SECONDS);
  if (flags.last("timeout") !== undefined && !flags.has("wait")) return "--timeout is for --wait";
  if (flags.has("allow-no-pods") && !flags.has("wait")) return "--allow-no-pods is for --wait";
  if (!/^\d{1,6}$/.test(timeout)) return `the timeout must be a whole number of seconds, is ${JSON.stringify(timeout)}`;
  const format = flags.last("output") ?? "table";
  if (format !== "table" && format !== "json") return `the output must be table or json, is ${JSON.stringify(format)}`;
  const from = readServers(flags, usesCluster, DEFAULT_SERVER);
  if (typeof from === "string") return from;
  const filter = resourceFilter(flags, from.replicas === undefined ? "default" : "");
  if (typeof filter === "string") return filter;
  const until = flags.has("watch") ? "watch" : flags.has("wait") ? "wait" : "once";
  const needsPods = until === "wait" && !flags.has("allow-no-pods");
  return {
    ...from,
    until,
    timeoutMs: Number(timeout) * 1000,
    format,
    filter,
    needsPods,
  };
}

/** The servers, or the cluster with the replicas. */
export function readServers(
  flags: ReadFlags,
  usesCluster: boolean,
  defaultServer: string,
): Pick<RolloutArguments, "servers" | "replicas" | "access"> | string {
  const replicas = readReplicasChoice(flags);
  if (typeof replicas === "string") return replicas;
  const named = flags.all("server");
  if (named.length > 0 && replicas.given !== undefined) return `--${replicas.given} and --server do not go together`;
  if (named.length === 0 && (usesCluster || replicas.given !== undefined)) {
    const forServers = Object.keys(ACCESS_FLAGS).find((flag) => flags.last(flag) !== undefined);
    if (forServers !== undefined) return `--${forServers} is for --server`;
    return { servers: [], replicas: replicas.choice, access: { headers: [] } };
  }
  const servers: string[] = [];
  for (const text of named.length === 0 ? [defaultServer] : named) {
    const server = serverUrl(text);
    // The part before an @ may be a password, and the part after a ? or # a token.
    const shown = text.replace(/^(\w+:\/\/)?.*@/s, "$1…@").replace(/([?#]).*/s, "$1…");
    if (server === undefined)
      return `a server must be like ${defaultServer.replace("127.0.0.1", "name")}, is ${JSON.stringify(shown)}`;
    servers.push(server);
  }
  const access = readAccess(flags, servers);
  return typeof access === "string" ? access : { servers: [...new Set(servers)], access };
}

/** `contextNamespace` is that of a resource whose namespace is not named; empty: the one of the cluster's context. */
function resourceFilter(flags: ReadFlags, contextNamespace: string): RolloutFilter | string {
  // An empty text comes from an unset variable: it does not mean everything.
  for (const flag of ["fleet", "namespace"]) if (flags.last(flag) === "") return `--${flag} must not be empty`;
  const [word] = flags.words;
  const [, inWord = "", name = ""] = /^(?:([^/]+)\/)?([^/]+)$/.exec(word ?? "") ?? [];
  if (word !== undefined && name === "") return `a resource must be NAME or NAMESPACE/NAME, is ${JSON.stringify(word)}`;
  const namespace = flags.last("namespace") ?? inWord;
  if (inWord !== "" && namespace !== inWord)
    return `the resource ${inWord}/${name} is not in the namespace ${JSON.stringify(namespace)}`;
  const generation = flags.last("generation");
  if (generation !== undefined && name === "") return "--generation is for one RESOURCE, name it";
  if (generation !== undefined && !/^[1-9]\d{0,14}$/.test(generation)) {
    return `the generation must be a whole number from 1, is ${JSON.stringify(generation)}`;
  }
  return {
    fleet: flags.last("fleet") ?? "",
    namespace: name !== "" && namespace === "" ? contextNamespace : namespace,
    name,
    generation: Number(generation ?? 0),
  };
}

/** The address without a slash at its end; a missing scheme is http. */
function serverUrl(text: string): string | undefined {
  const whole = text.includes("://") ? text : `http://${text}`;
  if (!URL.canParse(whole)) return undefined;
  const url = new URL(whole);
  const isPlain = url.username === "" && url.password === "" && url.search === "" && url.hash === "";
  if (!isPlain || (url.protocol !== "http:" && url.protocol !== "https:")) return undefined;
  return url.href.replace(/\/+$/, "");
}
