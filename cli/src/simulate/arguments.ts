// The command line of `weir simulate`. Pure.
import { parseDurationMs } from "@weir/common/settings/parse-values";
import type { Unit } from "@weir/limits/model/unit";
import type { Entry } from "@weir/limits/rules/rule";
import { parseDescriptor } from "@weir/proto/explain/descriptor-text";

import { type OutputFormat, readOutputFormat } from "../command-line/output-format.ts";
import { readFlags } from "../command-line/read-flags.ts";
import { parseTime } from "../explain/arguments.ts";
import { formatElapsed } from "./elapsed.ts";
import { countRequests, type Load } from "./simulate.ts";

export interface SimulateArguments {
  readonly paths: readonly string[];
  readonly domain: string;
  /** `undefined`: the only rule with a limit. */
  readonly descriptor: readonly Entry[] | undefined;
  readonly fleet: string | undefined;
  readonly load: Load;
  readonly format: OutputFormat;
  readonly mergeDomains: boolean;
  readonly skipOtherKinds: boolean;
}

/** The text of `weir simulate --help`. */
export const SIMULATE_HELP = `Plays requests against one limit, in no time and without any server, and prints how many pass.
Counts as a rate limit pod does whose store loses nothing.

Usage: weir simulate --file FILE --rate N/s [--burst N] [--for DURATION] [--descriptor KEY=VALUE[,KEY=VALUE…]] [FLAG…]

  -f, --file FILE
      A file with rules or RateLimitConfig manifests, or - for standard input. May be repeated.
  --dir DIRECTORY
      All .yaml, .yml and .json files of a directory and those below it. May be repeated.
  --rate N/s
      The steady rate of one client: a whole number per second (s), minute (m), hour (h) or day (d), such
      as 20/s. The requests are evenly apart, the first one at the start.
  --burst N
      As many more requests, all of them at the start, before the first one of the rate. Default is 0.
  --for DURATION
      For how long, such as 90s, 5m, 36h or 7d. Default is 1m.
  --at TIME
      The start, such as 2026-01-31T12:00:00Z (UTC where it names no zone) or seconds since the epoch.
      Fixed windows depend on it: their counts end by the clock. Default is 2026-01-01T00:00:00Z, when
      a minute, an hour, a day, a week and in UTC a month and a year of the calendar begin.
  --hits N
      Hits of each request, such as the tokens of a model. Default is 1.
  -d, --descriptor KEY=VALUE[,KEY=VALUE…]
      A descriptor of the limit, as for weir explain. May be left out when only one rule has a limit.
  --domain NAME
      The domain of the limit. May be left out when there is only one.
  --fleet NAME
      The fleet of the pod that is asked, where manifests of several fleets share the domain.
  --merge-domains
      Lets rule files share a domain, as the service does with MERGE_DOMAIN_CONFIG=true.
  --skip-other-kinds
      Ignores manifests of other kinds, as weir check does.
  -o, --output text|json
      text (default) for people, json: one object with everything.
  --help
      Shows this.

Exit code: 0 when it is played, also when requests are rejected; 1 when the files have problems, 2 when
the command line is wrong.
`;

/** Start of the requests: 1 January 2026 is a Thursday, on which weeks of fixed windows begin. */
const DEFAULT_START_MS = Date.parse("2026-01-01T00:00:00Z");

const DEFAULT_DURATION = "1m";

/** Most requests that are played, which takes seconds. */
const REQUESTS_MAX = 10_000_000;

/** Most hits of a request: the largest number of the protocol. */
const HITS_MAX = 4_294_967_295;

/** The units of a rate by their letters. */
const RATE_UNITS: ReadonlyMap<string, Unit> = new Map([
  ["s", "SECOND"],
  ["m", "MINUTE"],
  ["h", "HOUR"],
  ["d", "DAY"],
]);

/** Reads the arguments behind the name of the command; a text says what is wrong. */
export function parseSimulateArguments(args: readonly string[]): SimulateArguments | string {
  const flags = readFlags(args, {
    file: { type: "string", short: "f" },
    dir: { type: "string" },
    rate: { type: "string" },
    burst: { type: "string" },
    for: { type: "string" },
    at: { type: "string" },
    hits: { type: "string" },
    descriptor: { type: "string", short: "d" },
    domain: { type: "string" },
    fleet: { type: "string" },
    "merge-domains": { type: "boolean" },
    "skip-other-kinds": { type: "boolean" },
    output: { type: "string", short: "o" },
  });
  if (typeof flags === "string") return flags;
  const [word] = flags.words;
  if (word !== undefined) return `unexpected argument ${JSON.stringify(word)}: name files with --file`;
  const paths = [...flags.all("file"), ...flags.all("dir")];
  if (paths.length === 0) return "no rules given: name a file with --file, or a directory with --dir";
  const load = readLoad({
    rate: flags.last("rate"),
    burst: flags.last("burst") ?? "0",
    duration: flags.last("for") ?? DEFAULT_DURATION,
    at: flags.last("at"),
    hits: flags.last("hits") ?? "1",
  });
  if (typeof load === "string") return load;
  const [text, another] = flags.all("descriptor");
  if (another !== undefined) return "--descriptor may be given once: one limit is simulated";
  const descriptor = text === undefined ? undefined : parseDescriptor(text);
  if (typeof descriptor === "string") return descriptor;
  const output = readOutputFormat(flags.last("output"));
  if ("wrong" in output) return output.wrong;
  return {
    paths,
    domain: flags.last("domain") ?? "",
    descriptor,
    fleet: flags.last("fleet"),
    load,
    ...output,
    mergeDomains: flags.has("merge-domains"),
    skipOtherKinds: flags.has("skip-other-kinds"),
  };
}

/** The requests; a text is the problem. */
function readLoad(texts: {
  readonly rate: string | undefined;
  readonly burst: string;
  readonly duration: string;
  readonly at: string | undefined;
  readonly hits: string;
}): Load | string {
  if (texts.rate === undefined) return "no rate given: write one as --rate 20/s";
  const rate = readRate(texts.rate);
  if (rate === undefined)
    return `--rate must be a whole number from 1 on per s, m, h or d, such as 20/s, is ${JSON.stringify(texts.rate)}`;
  const burst = readNumber(texts.burst, 0, REQUESTS_MAX);
  if (burst === undefined)
    return `--burst must be a whole number from 0 to ${REQUESTS_MAX}, is ${JSON.stringify(texts.burst)}`;
  const hits = readNumber(texts.hits, 1, HITS_MAX);
  if (hits === undefined)
    return `--hits must be a whole number from 1 to ${HITS_MAX}, is ${JSON.stringify(texts.hits)}`;
  const durationMs = parseDurationMs(texts.duration, { hasDays: true });
  if (durationMs === undefined || durationMs < 1 || !Number.isSafeInteger(durationMs))
    return `--for must be a duration of whole milliseconds, such as 90s, 5m, 36h or 7d, is ${JSON.stringify(texts.duration)}`;
  const startMs = texts.at === undefined ? DEFAULT_START_MS : parseTime(texts.at);
  if (startMs === undefined)
    return `--at must be like 2026-01-31T12:00:00Z or seconds since the epoch, is ${JSON.stringify(texts.at)}`;
  const load = { startMs, durationMs, burst, hits, rate };
  const requests = countRequests(load);
  if (requests > REQUESTS_MAX)
    return `--rate ${texts.rate} for ${formatElapsed(durationMs)} and --burst ${burst} are ${requests} requests, at most ${REQUESTS_MAX} are simulated`;
  return load;
}

function readRate(text: string): Load["rate"] | undefined {
  const [, amount, letter = ""] = /^(\d{1,9})\/([a-z])$/.exec(text) ?? [];
  const [count, unit] = [Number(amount), RATE_UNITS.get(letter)];
  return count >= 1 && unit !== undefined ? { count, unit } : undefined;
}

function readNumber(text: string, min: number, max: number): number | undefined {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : undefined;
}
