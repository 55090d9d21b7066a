// The command line of `weir status`. Pure.
import { CLUSTER_FLAGS, CLUSTER_HELP, type ClusterChoice, readClusterChoice } from "../cluster/cluster-choice.ts";
import { KIND_NAMES, kindNamed, RATE_LIMIT_CONFIG, type WeirKind } from "../cluster/weir-kinds.ts";
import { readFlags } from "../command-line/read-flags.ts";

/** The formats of the output. */
export type StatusFormat = "text" | "json" | "yaml";

export interface StatusArguments {
  readonly cluster: ClusterChoice;
  /** One resource; undefined: all. */
  readonly resource: { readonly kind: WeirKind; readonly name: string } | undefined;
  /** `undefined`: that of the context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
  readonly format: StatusFormat;
}

/** The text of `weir status --help`. */
export const STATUS_HELP = `Shows the status of rate limits and data planes: conditions, the fields that are wrong, the pods that
rejected the rules and their own words. Reads nothing but the resources.
Usage: weir status [NAME] [-n NAMESPACE] [-A] [-o text|json|yaml]
  NAME
      One RateLimitConfig, or another kind as rls/NAME (RateLimitService). Without it: a table of all
      resources in the namespace, the worst first.
  -n, --namespace NAMESPACE
      The namespace, default is that of the context.
  -A, --all-namespaces
      The resources of all namespaces.
  -o, --output text|json|yaml
      text (default) for people, json and yaml: one object with everything.
${CLUSTER_HELP}  --help
      Shows this.
Exit code: 0 when everything that is shown is ready in its current generation, 1 when not (or the
resource does not exist), 2 when the API server does not answer or the command line is wrong.
`;

/** Reads the arguments after the name of the command; a text is the problem. */
export function parseStatusArguments(args: readonly string[]): StatusArguments | string {
  const flags = readFlags(args, {
    namespace: { type: "string", short: "n" },
    "all-namespaces": { type: "boolean", short: "A" },
    output: { type: "string", short: "o" },
    ...CLUSTER_FLAGS,
  });
  if (typeof flags === "string") return flags;
  const [word] = flags.words;
  if (flags.words.length > 1) return `one resource can be named at most, there are ${flags.words.length}`;
  const resource = word === undefined ? undefined : readResource(word);
  if (typeof resource === "string") return resource;
  const namespace = flags.last("namespace");
  if (namespace === "") return "--namespace must not be empty";
  const allNamespaces = flags.has("all-namespaces");
  if (allNamespaces && namespace !== undefined) return "--all-namespaces and --namespace do not go together";
  if (allNamespaces && resource !== undefined) return "a resource cannot be named with --all-namespaces";
  const format = flags.last("output") ?? "text";
  if (format !== "text" && format !== "json" && format !== "yaml")
    return `the output must be text, json or yaml, is ${JSON.stringify(format)}`;
  const cluster = readClusterChoice(flags);
  if (typeof cluster === "string") return cluster;
  return { cluster, resource, namespace, allNamespaces, format };
}

/** `NAME` or `KIND/NAME`; a text is the problem. */
function readResource(word: string): { readonly kind: WeirKind; readonly name: string } | string {
  const [, kindName, name = ""] = /^(?:([^/]*)\/)?([^/]+)$/.exec(word) ?? [];
  if (name === "") return `a resource must be NAME or KIND/NAME, is ${JSON.stringify(word)}`;
  if (kindName === undefined) return { kind: RATE_LIMIT_CONFIG, name };
  const kind = kindNamed(kindName);
  if (kind !== undefined) return { kind, name };
  return `unknown kind ${JSON.stringify(kindName)} in ${JSON.stringify(word)}, known are: ${KIND_NAMES}; a namespace is given with -n`;
}
