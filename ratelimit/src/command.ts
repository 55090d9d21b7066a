// The command line of weir-ratelimit: what to run, by its arguments.

/** The arguments, for --help. */
export const USAGE = "[check-ads [--timeout SECONDS]]";

/** Longest check, in seconds. */
const TIMEOUT_MAX_SECONDS = 3600;

const TIMEOUT_DEFAULT_SECONDS = 30;

/** The command to run. */
export type Command =
  | { readonly kind: "serve" }
  /** Opens a stream to the configuration server as the service does, and prints what it gets. */
  | { readonly kind: "check-ads"; readonly timeoutMs: number }
  | { readonly kind: "invalid"; readonly message: string };

/** Reads the arguments after the name of the program. */
export function parseCommand(args: readonly string[]): Command {
  const [name, flag, text, ...rest] = args;
  if (name === undefined) return { kind: "serve" };
  if (name !== "check-ads")
    return invalid(`${JSON.stringify(name)} is no command; allowed is check-ads, or nothing to serve`);
  if (flag === undefined) return { kind: "check-ads", timeoutMs: TIMEOUT_DEFAULT_SECONDS * 1000 };
  const seconds = /^\d+$/.test(text ?? "") ? Number(text) : 0;
  if (flag !== "--timeout" || seconds < 1 || seconds > TIMEOUT_MAX_SECONDS || rest.length > 0)
    return invalid(
      `check-ads takes --timeout with 1 to ${TIMEOUT_MAX_SECONDS} seconds, and got ${JSON.stringify(args.slice(1).join(" "))}`,
    );
  return { kind: "check-ads", timeoutMs: seconds * 1000 };
}

function invalid(reason: string): Command {
  return { kind: "invalid", message: `Cannot read the arguments: ${reason}` };
}
