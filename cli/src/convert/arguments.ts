// The command line of `weir convert`. Pure.
import { readFlags } from "../command-line/read-flags.ts";

/** The two forms that rules can have. */
export type Form = "manifest" | "rules";

/** What is to be converted. */
export interface ConvertArguments {
  readonly paths: readonly string[];
  /** undefined: the form that each input does not have. */
  readonly to: Form | undefined;
  readonly name: string | undefined;
  readonly namespace: string | undefined;
  readonly outputFolder: string | undefined;
}

/** What `weir convert --help` prints. */
export const CONVERT_HELP = `Turns rule files of the rate limit service into RateLimitConfig manifests, and back. Comments and
layout stay as far as YAML lets them. Needs no server and changes no file that is there.

Usage: weir convert [--to manifest|rules] [--name NAME] [-n NAMESPACE] [--output-dir DIRECTORY] FILE…

  FILE
      A file, a directory (its .yaml, .yml and .json files, also those in folders below) or - for
      standard input.
  --to manifest|rules
      The form that is wanted; default is the one that the input does not have.
  --name NAME
      The manifest's metadata.name, for one rule file; default is made of its domain.
  -n, --namespace NAMESPACE
      The manifest's metadata.namespace; default is none.
  --output-dir DIRECTORY
      Writes each result to a file of its own there, NAME.yaml, and never over another. Without it
      the result goes to standard output; several manifests are separated by ---, several rule files
      need a directory, because one file holds one domain.
  --help
      Shows this.

What the other form cannot say is told on standard error, with its place: as a warning when it is
left out (labels, fleets), as a problem when the rules would not be the same (rules that nest too
deep for a manifest).

Exit code: 0 when everything is converted, 1 when there are problems, and then nothing is written, 2
when the command line is wrong.
`;

/** Reads the arguments behind the name of the command; a text says what is wrong. */
export function parseConvertArguments(args: readonly string[]): ConvertArguments | string {
  const flags = readFlags(args, {
    to: { type: "string" },
    name: { type: "string" },
    namespace: { type: "string", short: "n" },
    "output-dir": { type: "string" },
  });
  if (!flags.ok) return flags.message;
  if (flags.words.length === 0) return "no file given: name files or directories, or - for standard input";
  const to = flags.last("to");
  if (to !== undefined && to !== "manifest" && to !== "rules")
    return `--to must be manifest or rules, is ${JSON.stringify(to)}`;
  const outputFolder = flags.last("output-dir");
  if (outputFolder === "") return "--output-dir must name a directory, is empty";
  return { paths: flags.words, to, name: flags.last("name"), namespace: flags.last("namespace"), outputFolder };
}
