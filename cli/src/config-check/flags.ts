// The command line of `weir-config-check`, in the style of Go's flag package: one dash or two,
// `-name value` or `-name=value`. Pure.

export interface ConfigCheckFlags {
  readonly directory: string;
  readonly mergeDomains: boolean;
}

/** The texts that Go's flag package takes for true and false. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["1", "t", "T", "true", "TRUE", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "false", "FALSE", "False"].map((text) => [text, false] as const),
]);

/** Reads the flags; a text is the problem. A later one replaces an earlier one of the same name. */
export function parseConfigCheckFlags(args: readonly string[]): ConfigCheckFlags | string {
  let directory = "";
  let mergeDomains = false;
  for (let index = 0; index < args.length; index += 1) {
    const arg = args[index] ?? "";
    const [, name, value] = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
    if (name === "config_dir") {
      if (value === undefined) index += 1;
      const given = value ?? args[index];
      if (given === undefined) return "flag needs an argument: -config_dir";
      directory = given;
    } else if (name === "merge_domain_configs") {
      const given = BOOLEANS.get(value ?? "true");
      if (given === undefined)
        return `invalid boolean value ${JSON.stringify(value)} for -merge_domain_configs: allowed are true and false`;
      mergeDomains = given;
    } else if (name !== undefined) {
      return `flag provided but not defined: -${name}; known are -config_dir and -merge_domain_configs`;
    } else return `unexpected argument ${JSON.stringify(arg)}; name the directory with -config_dir`;
  }
  return directory === "" ? "name the directory with -config_dir" : { directory, mergeDomains };
}
