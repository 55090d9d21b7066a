// The command line of `weir convert`. Pure.
import { readFlags } from "../command-line/read-flags.ts";

/** The two forms that rules can have. */
export type Form = "manifest" | "rules";

/** The arguments of `weir convert`. */
export interface ConvertArguments {
  readonly paths: readonly string[];
  /** undefined: the form that each input does not have. */
  readonly to: Form | undefined;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly outputFolder: string | undefined;
}

/** The text of `weir convert --help`. */
export const CONVERT_HELP = `Turns rule files of the rate limit service into RateLimitConfig manifests, and back. Comments and
layout are kept as far as YAML allows. Needs no server and changes no existing file.

Usage: weir convert [--to manifest|rules] [--name NAME] [-n NAMESPACE] [--output-dir DIRECTORY] FILE…

  FILE
      A file, a directory (its .yaml, .yml and .json files, also those in folders below) or - for
      standard input.
  --to manifest|rules
      The form of the result. Default: the form that the input does not have.
  --name NAME
      The manifest's metadata.name, for one rule file. Default: made of its domain.
  -n, --namespace NAMESPACE
      The manifest's metadata.namespace. Default: none.
  --output-dir DIRECTORY
      Writes each result to a file of its own, NAME.yaml, and never over another. Default: standard
      output, where manifests are separated by ---; several rule files need a directory, because one
      file holds one domain.
  --help
      Prints this help.

What the other form cannot express is printed to standard error, with its place: as a warning when
it is left out (labels, fleets), as a problem when the rules would not be the same (rules that nest
too deep for a manifest).

Exit code: 0 when everything is converted; 1 when there are problems, and then nothing is written; 2
when the command line is wrong.
`;

/** Parses the arguments behind the name of the command; a string says what is wrong. */
export function parseConvertArguments(args: readonly string[]): ConvertArguments | string {
  const flags = readFlags(args, {
    to: { type: "string" },
    name: { type: "string" },
    namespace: { type: "string", short: "n" },
    "output-dir": { type: "string" },
  });
  if (typeof flags === "string") return flags;
  if (flags.words.length === 0) return "no file given: name files or directories, or - for standard input";
  const to = flags.last("to");
  if (to !== undefined && to !== "manifest" && to !== "rules")
    return `--to must be manifest or rules, is ${JSON.stringify(to)}`;
  const outputFolder = flags.last("output-dir");
  if (outputFolder === "") return "--output-dir must name a directory, is empty";
  return { paths: flags.words, to, name: flags.last("name"), namespace: flags.last("namespace"), outputFolder };
}
