// Reads the flags of a command from its table of flags. Pure.
import { parseArgs } from "node:util";

/** The flags of a command by their long names. */
export type FlagTable = Readonly<
  Record<string, { readonly type: "string" | "boolean"; readonly short?: string; readonly multiple?: boolean }>
>;

/** The flags and words of a command line. */
export interface ReadFlags {
  /** The arguments that are not flags. */
  readonly words: readonly string[];
  /** Every value of a flag, in order. */
  all(name: string): readonly string[];
  /** The last value of a flag. */
  last(name: string): string | undefined;
  /** Returns true if a flag without a value was given. */
  has(name: string): boolean;
}

/** Reads the arguments of a command; a text is the problem. Flags may be anywhere; after `--` nothing is a flag. */
export function readFlags(args: readonly string[], table: FlagTable): ReadFlags | string {
  try {
    const { values, positionals } = parseArgs({
      args: namedInFull(args, table),
      options: repeatable(table),
      allowPositionals: true,
    });
    const all = (name: string): readonly string[] => (values[name] as readonly string[] | undefined) ?? [];
    return { words: positionals, all, last: (name) => all(name).at(-1), has: (name) => values[name] === true };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code?.startsWith("ERR_PARSE_ARGS_") !== true) throw error;
    return problemOf(message, table);
  }
}

/** Every flag with a value may be repeated; for a single value the last counts. */
function repeatable(
  table: FlagTable,
): Record<string, { type: "string" | "boolean"; short?: string; multiple?: boolean }> {
  return Object.fromEntries(
    Object.entries(table).map(([name, flag]) => [name, flag.type === "string" ? { ...flag, multiple: true } : flag]),
  );
}

/** Turns `-o=json` into `--output=json`: the parser would make the `=` a part of the value. */
function namedInFull(args: readonly string[], table: FlagTable): readonly string[] {
  const end = args.indexOf("--");
  return args.flatMap((arg, index) => (end !== -1 && index > end ? [arg] : splitShort(arg, table)));
}

function splitShort(arg: string, table: FlagTable): readonly string[] {
  const [, before, letter, value] = /^-([A-Za-z]*)([A-Za-z])(=.*)$/s.exec(arg) ?? [];
  if (before === undefined || letter === undefined || value === undefined) return [arg];
  const flagOf = (short: string): [string, FlagTable[string]] | undefined =>
    Object.entries(table).find((entry) => entry[1].short === short);
  const name = flagOf(letter)?.[0];
  // After a flag with a value, everything is its value: `-fa=b`.
  if (name === undefined || !Array.from(before).every((short) => flagOf(short)?.[1].type === "boolean")) return [arg];
  return [...(before === "" ? [] : [`-${before}`]), `--${name}${value}`];
}

function problemOf(message: string, table: FlagTable): string {
  const [, unknown] = /^Unknown option '([^']*)'/.exec(message) ?? [];
  if (unknown !== undefined) {
    const known = Object.entries(table).flatMap(([name, { short }]) =>
      short === undefined ? [`--${name}`] : [`-${short}`, `--${name}`],
    );
    return `unknown flag ${JSON.stringify(unknown)}, known are: ${[...known, "--help"].join(", ")}`;
  }
  const [, ambiguous] = /^Option '(.*)' argument is ambiguous/.exec(message) ?? [];
  if (ambiguous !== undefined) {
    const name = Object.entries(table).find(([long, { short }]) =>
      [`--${long}`, `-${short ?? ""}`].includes(ambiguous.split(/[, ]/)[0] ?? ""),
    )?.[0];
    return `a value that begins with a dash must be written as --${name ?? "flag"}=VALUE`;
  }
  const [first = message] = message.split(/[.\n]/);
  return `${first.charAt(0).toLowerCase()}${first.slice(1)}`;
}
