// The command line of `weir check`. Pure.
import { CLUSTER_HELP } from "../cluster/cluster-choice.ts";
import { CLUSTER_RULES_FLAGS, readClusterRulesChoice, type RulesFrom } from "../cluster/rules-choice.ts";
import { readOutputFormat } from "../command-line/output-format.ts";
import type { OutputFormat } from "../command-line/output-format.ts";
import { type ReadFlags, readFlags } from "../command-line/read-flags.ts";

/** Word for the live rules of a cluster. */
const CLUSTER = "cluster";

/** The arguments of `weir check`. */
export interface CheckArguments {
  readonly paths: readonly string[];
  readonly format: OutputFormat;
  readonly mergeDomains: boolean;
  readonly skipOtherKinds: boolean;
  /** The live rules; undefined: rules are compared with nothing. */
  readonly against: RulesFrom | undefined;
}

/** The text of `weir check --help`. */
export const CHECK_HELP = `Validates manifests of RateLimitConfig and RateLimitService (YAML or JSON, read as kubectl reads them)
and rule files of the rate limit service. Needs no server and changes nothing. A document with
apiVersion or kind is a manifest; anything else is a rule file.

Usage: weir check [-o text|json] [--merge-domains] [--skip-other-kinds] FILE…
       weir check --against PATH|cluster [-n NAMESPACE] [-A] [FLAG…] FILE…

  FILE
      A file, a directory (its .yaml, .yml and .json files, also those in folders below) or - for
      standard input.
  -o, --output text|json
      text (default): one line for each problem, path:line:column: field: message, then one for each
      warning, and a summary.
      json: one object with everything.
  --merge-domains
      Allows rule files to share a domain, as the service does with MERGE_DOMAIN_CONFIG=true.
      Manifests never share one.
  --skip-other-kinds
      Skips manifests of other kinds also when they are alone in their file. Without it such a file is
      a problem: the kind may be misspelt. Next to other documents, as helm and kustomize print them,
      other kinds are always skipped, and counted in the summary.
  --against PATH|cluster
      The live rules: a file, a directory, or the RateLimitConfigs of the cluster of kubectl. Warns of
      each rule whose counts would start anew, because its unit, multiplier, algorithm or time zone
      changes. Other changes keep the counts.
  -n, --namespace NAMESPACE
      With --against cluster: the namespace, default is that of the context.
  -A, --all-namespaces
      With --against cluster: the RateLimitConfigs of all namespaces.
${CLUSTER_HELP}  --help
      Prints this help.

Exit code: 0 when everything is valid, 1 when there are problems, 2 when the command line is wrong.
Warnings do not change the exit code: they are about what a rate limit pod ignores silently.
`;

/** Parses the arguments behind the name of the command; a string says what is wrong. */
export function parseCheckArguments(args: readonly string[]): CheckArguments | string {
  const flags = readFlags(args, {
    output: { type: "string", short: "o" },
    "merge-domains": { type: "boolean" },
    "skip-other-kinds": { type: "boolean" },
    against: { type: "string" },
    ...CLUSTER_RULES_FLAGS,
  });
  if (typeof flags === "string") return flags;
  if (flags.words.length === 0) return "no file given: name files or directories, or - for standard input";
  const output = readOutputFormat(flags.last("output"));
  if ("wrong" in output) return output.wrong;
  const against = readAgainst(flags);
  if (typeof against === "string") return against;
  return {
    paths: flags.words,
    ...output,
    mergeDomains: flags.has("merge-domains"),
    skipOtherKinds: flags.has("skip-other-kinds"),
    against,
  };
}

/** The source of the live rules; a text is the problem. */
function readAgainst(flags: ReadFlags): RulesFrom | undefined | string {
  const against = flags.last("against");
  if (against === "") return "--against must not be empty";
  if (against === CLUSTER) {
    const choice = readClusterRulesChoice(flags);
    return typeof choice === "string" ? choice : { kind: "cluster", ...choice };
  }
  const given = Object.keys(CLUSTER_RULES_FLAGS).find((flag) => flags.has(flag) || flags.last(flag) !== undefined);
  if (given !== undefined) return `--${given} needs --against ${CLUSTER}`;
  return against === undefined ? undefined : { kind: "files", paths: [against] };
}
