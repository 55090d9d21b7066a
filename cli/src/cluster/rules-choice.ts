// The flags that choose the RateLimitConfigs of a cluster. Pure.
import type { ReadFlags } from "../command-line/read-flags.ts";
import { CLUSTER_FLAGS, type ClusterChoice, readClusterChoice } from "./cluster-choice.ts";

/** The resources of a cluster that have the rules. */
export interface ClusterRulesChoice {
  readonly cluster: ClusterChoice;
  /** `undefined`: that of the context. */
  readonly namespace: string | undefined;
  readonly allNamespaces: boolean;
}

/** The source of rules. */
export type RulesFrom =
  { readonly kind: "files"; readonly paths: readonly string[] } | ({ readonly kind: "cluster" } & ClusterRulesChoice);

/** The flags, for the reader of the command line. */
export const CLUSTER_RULES_FLAGS = {
  namespace: { type: "string", short: "n" },
  "all-namespaces": { type: "boolean", short: "A" },
  ...CLUSTER_FLAGS,
} as const;

/** The choice in the flags; a text is the problem. */
export function readClusterRulesChoice(flags: ReadFlags): ClusterRulesChoice | string {
  const namespace = flags.last("namespace");
  if (namespace === "") return "--namespace must not be empty";
  const allNamespaces = flags.has("all-namespaces");
  if (allNamespaces && namespace !== undefined) return "--all-namespaces and --namespace do not go together";
  const cluster = readClusterChoice(flags);
  return typeof cluster === "string" ? cluster : { cluster, namespace, allNamespaces };
}
