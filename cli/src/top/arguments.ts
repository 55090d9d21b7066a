// The command line of `weir top`. Pure.
import { REPLICAS_FLAGS, REPLICAS_HELP } from "../cluster/replicas-choice.ts";
import { readFlags } from "../command-line/read-flags.ts";
import { readServers, type RolloutArguments } from "../rollout/arguments.ts";
import { ACCESS_FLAGS, ACCESS_HELP } from "../rollout/server-access.ts";

/** The default address of the console of a control plane. */
const DEFAULT_SERVER = "http://127.0.0.1:8092";

/** Rules that are shown unless the command line says how many. */
const LIMIT = 20;

export interface TopArguments extends Pick<RolloutArguments, "servers" | "replicas" | "access" | "format"> {
  readonly view: "rules" | "keys";
  /** Paths of rules; empty: those with most rejections. */
  readonly paths: readonly string[];
  /** Empty: every fleet. */
  readonly fleet: string;
  readonly once: boolean;
  /** Most rules. */
  readonly limit: number;
}

/** The text of `weir top --help`. */
export const TOP_HELP = `Shows what rate limit pods count now, and in the last ten minutes. Changes nothing.
Reads the API of the console of the control plane, which asks pods for their counts while the command runs.

Usage: weir top [rules|keys] [--server URL]… [--fleet NAME] [--once] [-o table|json] [PATH…]

  rules
      The default: fleets, and the rules with most hits over the limit.
  keys
      In addition the keys of rules that have most hits over the limit, and those with most hits: of
      the rules that are named, else of the five with most hits over the limit.
  PATH
      Only rules of this path, as statistics name them: DOMAIN.KEY or DOMAIN.KEY_VALUE, and so on for
      each level.
  -s, --server URL
      The console of a control plane, CONSOLE_PORT, default ${DEFAULT_SERVER}. May be repeated.
      Every replica knows only the pods that are connected to it.
  --fleet NAME
      Only this fleet.
  --limit NUMBER
      Most rules, default ${LIMIT}.
  --once
      Prints once and ends, as without a terminal. Otherwise the table is redrawn each second until the
      command is interrupted, and with -o json an object in one line is printed each second.
  -o, --output table|json
      table (default) for people, json: one object with everything.
${REPLICAS_HELP}${ACCESS_HELP}  --help
      Shows this.

Exit code: 0, and 2 when a server does not answer or the command line is wrong.
`;

/** Reads the arguments after the name of the command; a text is the problem. */
export function parseTopArguments(
  args: readonly string[],
  { usesCluster = false }: { readonly usesCluster?: boolean | undefined } = {},
): TopArguments | string {
  const flags = readFlags(args, {
    server: { type: "string", short: "s" },
    fleet: { type: "string" },
    limit: { type: "string" },
    once: { type: "boolean" },
    output: { type: "string", short: "o" },
    ...REPLICAS_FLAGS,
    ...ACCESS_FLAGS,
  });
  if (typeof flags === "string") return flags;
  const [first = "rules", ...paths] = flags.words;
  if (first !== "rules" && first !== "keys")
    return `the view must be rules or keys, is ${JSON.stringify(first)}; a path comes after it`;
  const format = flags.last("output") ?? "table";
  if (format !== "table" && format !== "json") return `the output must be table or json, is ${JSON.stringify(format)}`;
  const limit = flags.last("limit") ?? String(LIMIT);
  if (!/^[1-9]\d{0,3}$/.test(limit)) return `the limit must be a number of rules, is ${JSON.stringify(limit)}`;
  // An empty text comes from an unset variable: it does not mean everything.
  if (flags.last("fleet") === "") return "--fleet must not be empty";
  const from = readServers(flags, usesCluster, DEFAULT_SERVER);
  if (typeof from === "string") return from;
  const fleet = flags.last("fleet") ?? "";
  return { ...from, view: first, paths, fleet, once: flags.has("once"), format, limit: Number(limit) };
}
