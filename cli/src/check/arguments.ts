// The command line of `weir check`. Pure.
import { readOutputFormat } from "../command-line/output-format.ts";
import type { OutputFormat } from "../command-line/output-format.ts";
import { readFlags } from "../command-line/read-flags.ts";

/** The arguments of `weir check`. */
export interface CheckArguments {
  readonly paths: readonly string[];
  readonly format: OutputFormat;
  readonly mergeDomains: boolean;
  readonly skipOtherKinds: boolean;
}

/** What `weir check --help` prints. */
export const CHECK_HELP = `Validates manifests of RateLimitConfig and RateLimitService (YAML or JSON, read as kubectl reads them)
and rule files of the rate limit service. Needs no server and changes nothing. A document with
apiVersion or kind is a manifest; anything else is a rule file.

Usage: weir check [-o text|json] [--merge-domains] [--skip-other-kinds] FILE…

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
  --help
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
  });
  if (typeof flags === "string") return flags;
  if (flags.words.length === 0) return "no file given: name files or directories, or - for standard input";
  const output = readOutputFormat(flags.last("output"));
  if ("wrong" in output) return output.wrong;
  return {
    paths: flags.words,
    ...output,
    mergeDomains: flags.has("merge-domains"),
    skipOtherKinds: flags.has("skip-other-kinds"),
  };
}
