// The command line of weir-account: what to run, by its first argument.

/** The arguments, for --help. */
export const USAGE =
  "[backup FILE | sweep [--delete] | duplicates [--keep ID] | user find|lock|unlock|end-sessions|delete EMAIL | check-login URL]";

/** The actions of an operator on one account. */
export const USER_ACTIONS = ["find", "lock", "unlock", "end-sessions", "delete"] as const;

export type UserAction = (typeof USER_ACTIONS)[number];

/** The command to run. */
export type Command =
  | { readonly kind: "serve" }
  /** Copies the embedded database to a new file. */
  | { readonly kind: "backup"; readonly file: string }
  /** Lists avatars without a user, and removes them when asked to. */
  | { readonly kind: "sweep"; readonly isDeleting: boolean }
  /** Lists accounts that share an address; the account `keep` gets its own alone. */
  | { readonly kind: "duplicates"; readonly keep: string | undefined }
  /** Shows or changes the account with an address. */
  | { readonly kind: "user"; readonly action: UserAction; readonly email: string }
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
      const isDeleting = rest.length === 1 && rest[0] === "--delete";
      if (rest.length === 0 || isDeleting) return { kind: "sweep", isDeleting };
      return invalid(`sweep takes --delete or nothing, and got ${JSON.stringify(rest.join(" "))}`);
    }
    case "duplicates": {
      const [flag, keep] = rest;
      if (rest.length === 0 || (rest.length === 2 && flag === "--keep")) return { kind: "duplicates", keep };
      return invalid(`duplicates takes --keep ID or nothing, and got ${JSON.stringify(rest.join(" "))}`);
    }
    case "user": {
      const [given, email = ""] = rest;
      const action = USER_ACTIONS.find((each) => each === given);
      if (rest.length === 2 && action !== undefined && email !== "") return { kind: "user", action, email };
      return invalid(
        `user takes one of ${USER_ACTIONS.join(", ")} and an e-mail address, and got ${rest.length} arguments`,
      );
    }
    case "check-login": {
      const [url = ""] = rest;
      if (rest.length === 1 && /^https?:$/.test(URL.parse(url)?.protocol ?? "")) return { kind: "check-login", url };
      return invalid(`check-login takes one http or https URL of a service, and got ${JSON.stringify(rest.join(" "))}`);
    }
    default:
      return invalid(
        `${JSON.stringify(name)} is no command; allowed are backup, sweep, duplicates, user and check-login, or nothing to serve`,
      );
  }
}

function invalid(reason: string): Command {
  return { kind: "invalid", message: `Cannot read the arguments: ${reason}` };
}
