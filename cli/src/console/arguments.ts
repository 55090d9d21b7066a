// The command line of `weir console`. Pure.
import { REPLICAS_FLAGS, REPLICAS_HELP } from "../cluster/replicas-choice.ts";
import { readFlags } from "../command-line/read-flags.ts";
import { readServers, type RolloutArguments } from "../rollout/arguments.ts";
import { ACCESS_FLAGS, ACCESS_HELP } from "../rollout/server-access.ts";

/** The default address of the console of a control plane. */
const DEFAULT_SERVER = "http://127.0.0.1:8092";

export interface ConsoleArguments extends Pick<RolloutArguments, "servers" | "replicas" | "access"> {
  /** True if a browser is started. */
  readonly opensBrowser: boolean;
}

/** The text of `weir console --help`. */
export const CONSOLE_HELP = `Opens the page of the console: which rules reject now, what is not served, and which pods wait or NACK.
Changes nothing. Serves the page on 127.0.0.1, at a port that is free, until the command is interrupted, and passes
on what it asks to every replica of the control plane.

Usage: weir console [--server URL]… [--no-open]

  -s, --server URL
      The console of a control plane, CONSOLE_PORT, default ${DEFAULT_SERVER}. May be repeated.
      Every replica knows only the pods that are connected to it.
  --no-open
      Starts no browser. The URL that is printed opens the page in one browser, once.
${REPLICAS_HELP}${ACCESS_HELP}  --help
      Shows this.

Exit code: 0 when it was interrupted, 2 when no replica is found or the command line is wrong.
`;

/** Reads the arguments after the name of the command; a text is the problem. */
export function parseConsoleArguments(
  args: readonly string[],
  { usesCluster = false }: { readonly usesCluster?: boolean | undefined } = {},
): ConsoleArguments | string {
  const flags = readFlags(args, {
    server: { type: "string", short: "s" },
    "no-open": { type: "boolean" },
    ...REPLICAS_FLAGS,
    ...ACCESS_FLAGS,
  });
  if (typeof flags === "string") return flags;
  if (flags.words.length > 0) return `no argument is expected, there is ${JSON.stringify(flags.words[0])}`;
  const from = readServers(flags, usesCluster, DEFAULT_SERVER);
  return typeof from === "string" ? from : { ...from, opensBrowser: !flags.has("no-open") };
}
