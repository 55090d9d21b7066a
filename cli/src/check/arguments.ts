// The command line of `weir check`. Pure.

/** How the result is printed. */
export type OutputFormat = "text" | "json";

/** What is to be done. */
export type CheckArguments =
  | { readonly kind: "help" }
  | { readonly kind: "wrong"; readonly message: string }
  | { readonly kind: "check"; readonly paths: readonly string[]; readonly format: OutputFormat; readonly mergeDomains: boolean };

/** What `weir check --help` prints. */
export const CHECK_HELP = `Validates RateLimitConfig manifests (YAML or JSON, read as kubectl reads them) and rule files of the
rate limit service. Needs no server and changes nothing. A document with apiVersion or kind is a
manifest, anything else holds rules.

Usage: weir check [-o text|json] [--merge-domains] FILE…

  FILE
      A file, a directory (its .yaml, .yml and .json files, also those in folders below) or - for
      standard input.
  -o, --output text|json
      text (default): one line for each problem, path:line:column: field: message, and a last line
      that sums up.
      json: one object with everything.
  --merge-domains
      Lets rule files share a domain, as the service does with MERGE_DOMAIN_CONFIG=true. Manifests
      never share one.
  --help
      Shows this.

Exit code: 0 when everything is valid, 1 when there are problems, 2 when the command line is wrong.
`;

/** Reads the arguments behind the name of the command. Flags may stand anywhere; behind `--` everything is a file. */
export function parseCheckArguments(args: readonly string[]): CheckArguments {
  const paths: string[] = [];
  const options = { format: "text", mergeDomains: false };
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? "";
    if (arg === "--") {
      paths.push(...args.slice(index + 1));
      break;
    }
    const { name, value } = splitFlag(arg);
    if (!arg.startsWith("-") || arg === "-") paths.push(arg);
    else if (name === "--help" || name === "-h") return { kind: "help" };
    else if (name === "--merge-domains" && value === undefined) options.mergeDomains = true;
    else if (name === "-o" || name === "--output") {
      if (value === undefined) index += 1;
      options.format = value ?? args[index] ?? "";
    } else return wrong(`unknown flag ${JSON.stringify(arg)}, known are: -o, --output, --merge-domains, --help`);
  }
  const { format, mergeDomains } = options;
  if (format !== "text" && format !== "json") return wrong(`the output must be text or json, is ${JSON.stringify(format)}`);
  if (paths.length === 0) return wrong("no file given: name files or directories, or - for standard input");
  return { kind: "check", paths, format, mergeDomains };
}

function wrong(message: string): CheckArguments {
  return { kind: "wrong", message };
}

/** A flag and the value that is written in one word with it: `--output=json`, `-o=json`, `-ojson`. */
function splitFlag(arg: string): { readonly name: string; readonly value: string | undefined } {
  const [, name = arg, value] = /^(--[^=]+)=(.*)$/s.exec(arg) ?? /^(-o)=?(.+)$/s.exec(arg) ?? [];
  return { name, value };
}
