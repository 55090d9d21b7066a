// The command line of `weir explain`. Pure.
import type { Entry } from "@weir/limits/rules/rule";
import { parseDescriptor } from "@weir/proto/explain/descriptor-text";

import { REPLICAS_FLAGS } from "../cluster/replicas-choice.ts";
import { CLUSTER_HELP } from "../cluster/cluster-choice.ts";
import { CLUSTER_RULES_FLAGS, readClusterRulesChoice, type RulesFrom } from "../cluster/rules-choice.ts";
import { readOutputFormat } from "../command-line/output-format.ts";
import type { OutputFormat } from "../command-line/output-format.ts";
import { type ReadFlags, readFlags } from "../command-line/read-flags.ts";
import { readServers, type RolloutArguments } from "../rollout/arguments.ts";
import { ACCESS_FLAGS } from "../rollout/server-access.ts";

/** The default address of the console of a control plane. */
const DEFAULT_SERVER = "http://127.0.0.1:8092";

/** The control plane that is asked for counts. */
export type CountsFrom = Pick<RolloutArguments, "servers" | "replicas" | "access">;

export interface ExplainArguments {
  readonly from: RulesFrom;
  readonly domain: string;
  readonly descriptors: readonly (readonly Entry[])[];
  readonly fleet: string | undefined;
  readonly atMs: number;
  readonly format: OutputFormat;
  readonly keyPrefix: string;
  /** Undefined: no counts are wanted. */
  readonly counts: CountsFrom | undefined;
  readonly mergeDomains: boolean;
  readonly skipOtherKinds: boolean;
}

/** The text of `weir explain --help`. */
export const EXPLAIN_HELP = `Shows which rule limits a request, and why others do not: level by level as a rate limit pod matches
them. Needs no server but, with --from-cluster, the API server, and with --counts a control plane. Nothing
is counted.

Usage: weir explain --file FILE --domain NAME --descriptor KEY=VALUE[,KEY=VALUE…] [FLAG…]
       weir explain --from-cluster [-n NAMESPACE] [-A] --domain NAME --descriptor KEY=VALUE[,KEY=VALUE…] [FLAG…]

  -f, --file FILE
      A file with rules or RateLimitConfig manifests, or - for standard input. May be repeated.
  --dir DIRECTORY
      All .yaml, .yml and .json files of a directory and those below it. May be repeated.
  --from-cluster
      In place of files: reads the RateLimitConfigs from the cluster of kubectl, in the order in which they
      own domains. The default of kubectl weir. The account must be allowed to list RateLimitConfigs.
  -n, --namespace NAMESPACE
      The namespace in the cluster, default is that of the context.
  -A, --all-namespaces
      The RateLimitConfigs of all namespaces: a domain may belong to an older one of another namespace.
${CLUSTER_HELP}  --domain NAME
      The domain that the request names. May be left out when there is only one.
  -d, --descriptor KEY=VALUE[,KEY=VALUE…]
      One descriptor of the request: its entries in order. Write \\, for a comma and \\\\ for a backslash
      in a key or value, and \\= for an = in a key. May be repeated: the descriptors of one request
      are matched together, because one limit may replace another.
  --fleet NAME
      The fleet of the pod that is asked, where manifests of several fleets share the domain.
  --at TIME
      The time of the request, such as 2026-01-31T12:00:00Z (UTC where it names no zone) or seconds since
      the epoch; default is now.
  --key-prefix TEXT
      What the pod puts before every counter key (its setting CACHE_KEY_PREFIX).
  --counts
      Shows the present counts, too, as one pod of the fleet of --fleet reads them. The pod is asked through
      the control plane, by its rules.
  -s, --server URL
      With --counts: the console of a control plane, CONSOLE_PORT, default ${DEFAULT_SERVER}; with
      --from-cluster the replicas in the cluster. May be repeated. The flags of weir top for access to
      servers and for the Service of the replicas can be given, too.
  --merge-domains
      Lets rule files share a domain, as the service does with MERGE_DOMAIN_CONFIG=true.
  --skip-other-kinds
      Ignores manifests of other kinds, as weir check does.
  -o, --output text|json
      text (default) for people, json: one object with everything.
  --help
      Shows this.

Exit code: 0 when it is explained, also when no rule matches; 1 when the files have problems, 2 when
the command line is wrong or the API server does not answer.
`;

/** The flags that take the rules from a cluster. */
const FROM_CLUSTER_FLAGS = { "from-cluster": { type: "boolean" }, ...CLUSTER_RULES_FLAGS } as const;

/** Most descriptors of one request, as a pod takes by default. */
const DESCRIPTORS_MAX = 1000;

/**
 * Reads the arguments behind the name of the command; a text says what is wrong. `nowMs` is used
 * when no time is given. `usesCluster`: the rules come from the cluster unless files are named.
 */
export function parseExplainArguments(
  args: readonly string[],
  nowMs: number,
  { usesCluster = false }: { readonly usesCluster?: boolean | undefined } = {},
): ExplainArguments | string {
  const flags = readFlags(args, {
    file: { type: "string", short: "f" },
    dir: { type: "string" },
    ...FROM_CLUSTER_FLAGS,
    domain: { type: "string" },
    descriptor: { type: "string", short: "d" },
    fleet: { type: "string" },
    counts: { type: "boolean" },
    server: { type: "string", short: "s" },
    ...REPLICAS_FLAGS,
    ...ACCESS_FLAGS,
    at: { type: "string" },
    "key-prefix": { type: "string" },
    "merge-domains": { type: "boolean" },
    "skip-other-kinds": { type: "boolean" },
    output: { type: "string", short: "o" },
  });
  if (typeof flags === "string") return flags;
  const [word] = flags.words;
  if (word !== undefined) return `unexpected argument ${JSON.stringify(word)}: name files with --file`;
  const from = readRulesFrom(flags, usesCluster);
  if (typeof from === "string") return from;
  const descriptors: (readonly Entry[])[] = [];
  for (const text of flags.all("descriptor")) {
    const entries = parseDescriptor(text);
    if (typeof entries === "string") return entries;
    descriptors.push(entries);
  }
  if (descriptors.length === 0) return "no descriptor given: write one as --descriptor key=value,key=value";
  if (descriptors.length > DESCRIPTORS_MAX) return `a request has at most ${DESCRIPTORS_MAX} descriptors`;
  const output = readOutputFormat(flags.last("output"));
  if ("wrong" in output) return output.wrong;
  const counts = readCountsFrom(flags, usesCluster);
  if (typeof counts === "string") return counts;
  const at = flags.last("at");
  const atMs = at === undefined ? nowMs : parseTime(at);
  if (atMs === undefined)
    return `the time must be like 2026-01-31T12:00:00Z or seconds since the epoch, is ${JSON.stringify(at)}`;
  return {
    from,
    domain: flags.last("domain") ?? "",
    descriptors,
    fleet: flags.last("fleet"),
    atMs,
    ...output,
    counts,
    keyPrefix: flags.last("key-prefix") ?? "",
    mergeDomains: flags.has("merge-domains"),
    skipOtherKinds: flags.has("skip-other-kinds"),
  };
}

/** The control plane that is asked for counts, if they are wanted; a text is the problem. */
function readCountsFrom(flags: ReadFlags, usesCluster: boolean): CountsFrom | string | undefined {
  const forCounts = { server: {}, ...REPLICAS_FLAGS, ...ACCESS_FLAGS };
  if (!flags.has("counts")) {
    const given = Object.keys(forCounts).find(
      (flag) => !(flag in FROM_CLUSTER_FLAGS) && flags.last(flag) !== undefined,
    );
    return given === undefined ? undefined : `--${given} is for --counts`;
  }
  if ((flags.last("fleet") ?? "") === "") return "--counts needs the fleet of the pods: name it with --fleet";
  if (flags.last("at") !== undefined) return "--counts and --at do not go together: counts are those of now";
  return readServers(flags, usesCluster || flags.has("from-cluster"), DEFAULT_SERVER);
}

/** The source of the rules; a text is the problem. */
function readRulesFrom(flags: ReadFlags, usesCluster: boolean): RulesFrom | string {
  const paths = [...flags.all("file"), ...flags.all("dir")];
  const given = Object.keys(FROM_CLUSTER_FLAGS).find((flag) => flags.has(flag) || flags.last(flag) !== undefined);
  if (paths.length > 0) {
    return given === undefined ? { kind: "files", paths } : `files and --${given} do not go together`;
  }
  if (given === undefined && !usesCluster)
    return "no rules given: name a file with --file, a directory with --dir, or the cluster of kubectl with --from-cluster";
  const choice = readClusterRulesChoice(flags);
  return typeof choice === "string" ? choice : { kind: "cluster", ...choice };
}

/** Milliseconds since the epoch of a time as --at names it; undefined for anything else. */
export function parseTime(text: string): number | undefined {
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : parseCalendarTime(text);
  // Beyond this the calendar of JavaScript ends.
  return Number.isFinite(ms) && ms >= 0 && ms <= 8.64e15 ? ms : undefined;
}

/**
 * NaN for what is no time, and for a day that its month does not have, which Date would take for
 * one of the next.
 */
function parseCalendarTime(text: string): number {
  const [, day = "", time = "T00:00", zone = "Z"] = /^(\d{4}-\d\d-\d\d)(T[\d:.]+)?(Z|[+-]\d\d:\d\d)?$/.exec(text) ?? [];
  const dayMs = Date.parse(`${day}T00:00Z`);
  if (Number.isNaN(dayMs) || !new Date(dayMs).toISOString().startsWith(day)) return Number.NaN;
  return Date.parse(`${day}${time}${zone}`);
}
