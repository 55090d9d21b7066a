// The command line of `weir shadow`. Pure.
import { CLUSTER_FLAGS, CLUSTER_HELP, type ClusterChoice, readClusterChoice } from "../cluster/cluster-choice.ts";
import { kindNamed, RATE_LIMIT_CONFIG } from "../cluster/weir-kinds.ts";
import { readFlags } from "../command-line/read-flags.ts";

/** The label of RateLimitConfigs that --all leaves as they are. */
export const PROTECTED_LABEL = "ratelimit.weir.dev/protected";

export interface ShadowArguments {
  readonly cluster: ClusterChoice;
  readonly isOn: boolean;
  /** Names of RateLimitConfigs; undefined: all. */
  readonly names: readonly string[] | undefined;
  /** `undefined`: that of the context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
  /** True if --all includes those with the label. */
  readonly includesProtected: boolean;
}

/** The text of `weir shadow --help`. */
export const SHADOW_HELP = `Switches limits off (on) and on again (off): sets spec.shadowMode of RateLimitConfigs, which then limit
nothing and still count everything. Pods follow within two seconds.
Usage: weir shadow on|off NAME… [-n NAMESPACE]
       weir shadow on|off --all [-n NAMESPACE|-A] [--protected]
  NAME
      A RateLimitConfig.
  --all
      Every RateLimitConfig of the namespace, but for those with the label ${PROTECTED_LABEL}.
  --protected
      Those as well.
  -n, --namespace NAMESPACE
      The namespace, default is that of the context.
  -A, --all-namespaces
      With --all: the RateLimitConfigs of all namespaces.
${CLUSTER_HELP}  --help
      Shows this.
The field is set by server-side apply, with the field manager weir-shadow; off removes it again. The account
must be allowed to get and patch ratelimitconfigs, and to list them for --all.
Exit code: 0 when all are as wanted or were skipped, 1 when one is not (or does not exist), 2 when the API
server does not answer or the command line is wrong.
`;

/** Reads the arguments after the name of the command; a text is the problem. */
export function parseShadowArguments(args: readonly string[]): ShadowArguments | string {
  const flags = readFlags(args, {
    all: { type: "boolean" },
    protected: { type: "boolean" },
    namespace: { type: "string", short: "n" },
    "all-namespaces": { type: "boolean", short: "A" },
    ...CLUSTER_FLAGS,
  });
  if (typeof flags === "string") return flags;
  const [state, ...words] = flags.words;
  if (state !== "on" && state !== "off")
    return `the first argument must be on or off${state === undefined ? "" : `, is ${JSON.stringify(state)}`}`;
  const names = words.map(nameIn);
  const wrong = words.find((_word, index) => names[index] === undefined);
  if (wrong !== undefined) return `a RateLimitConfig must be NAME or rlc/NAME, is ${JSON.stringify(wrong)}`;
  const isAll = flags.has("all");
  if (isAll === names.length > 0)
    return isAll ? "--all and names do not go together" : "name a RateLimitConfig, or --all";
  const namespace = flags.last("namespace");
  if (namespace === "") return "--namespace must not be empty";
  const allNamespaces = flags.has("all-namespaces");
  if (allNamespaces && namespace !== undefined) return "--all-namespaces and --namespace do not go together";
  if (allNamespaces && !isAll) return "--all-namespaces needs --all";
  const includesProtected = flags.has("protected");
  if (includesProtected && !isAll) return "--protected needs --all: what is named is switched anyway";
  const cluster = readClusterChoice(flags);
  if (typeof cluster === "string") return cluster;
  const chosen = isAll ? undefined : names.flatMap((name) => name ?? []);
  return { cluster, isOn: state === "on", names: chosen, namespace, allNamespaces, includesProtected };
}

/** The name in `NAME` or `rlc/NAME`; undefined when it is of another kind. */
function nameIn(word: string): string | undefined {
  const [, kind, name] = /^(?:([^/]*)\/)?([^/]+)$/.exec(word) ?? [];
  return kind === undefined || kindNamed(kind) === RATE_LIMIT_CONFIG ? name : undefined;
}
