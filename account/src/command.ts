// The command line of weir-account: what to run, by its first argument.

/** The arguments, for --help. */
export const USAGE = "[backup FILE | sweep [--force] | check-login URL]";

/** What to run. */
export type Command =
  | { readonly kind: "serve" }
  /** Copies the embedded database to a new file. */
  | { readonly kind: "backup"; readonly file: string }
  /** Removes avatars without a user; forced, also when most have none. */
  | { readonly kind: "sweep"; readonly isForced: boolean }
  /** Registers, logs in, refreshes and logs out at a running service. */
  | { readonly kind: "check-login"; readonly url: string }
  | { readonly kind: "invalid"; readonly message: string };

/** Reads the arguments after the name of the program. */
export function parseCommand(args: readonly string[]): Command {
  const [name, ...rest] = args;
  switch (name) {
    case undefined:
      return { kind: "serve" };
    case "backup": {
      const [file] = rest;
      if (rest.length === 1 && file !== undefined && file !== "") return { kind: "backup", file };
      return invalid(`backup takes one argument, the file to write, and got ${rest.length}`);
    }
    case "sweep": {
      const isForced = rest.length === 1 && rest[0] === "--force";
      if (rest.length === 0 || isForced) return { kind: "sweep", isForced };
      return invalid(`sweep takes --force or nothing, and got ${JSON.stringify(rest.join(" "))}`);
    }
    case "check-login": {
      const [url = ""] = rest;
      if (rest.length === 1 && /^https?:$/.test(URL.parse(url)?.protocol ?? "")) return { kind: "check-login", url };
      return invalid(`check-login takes one http or https URL of a service, and got ${JSON.stringify(rest.join(" "))}`);
    }
    default:
      return invalid(
        `${JSON.stringify(name)} is no command; allowed are backup, sweep and check-login, or nothing to serve`,
      );
  }
}

function invalid(reason: string): Command {
  return { kind: "invalid", message: `Cannot read the arguments: ${reason}` };
}
