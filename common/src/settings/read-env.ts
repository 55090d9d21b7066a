// Reads typed settings from the environment: names with aliases, units, defaults, and one error for everything that is wrong. Which settings a
// program has stands in its settings.ts; the grammar of the values in parse-values.ts.
import { readFileSync } from "node:fs";

import { describeError, ServiceError } from "../errors/service-error.ts";
import { parseBoolean, parseDurationMs, parseInteger, parseNumber, parseSizeBytes } from "./parse-values.ts";
import { maskCredentials, REDACTED, Secret } from "./secret.ts";

const PORT_MAX = 65_535;

/** Longest part of a wrong value that a problem quotes, in characters. */
const QUOTED_VALUE_MAX = 200;

/** The environment as Node gives it. A variable that is set to the empty string counts as not set. */
export type Env = Readonly<Record<string, string | undefined>>;

/** The name of a setting, or its primary name followed by aliases. */
export type Names = string | readonly [primary: string, ...aliases: string[]];

/** What every setting tells about itself: its default, and in one sentence what it does. */
export interface Described<T> {
  readonly default: T;
  readonly effect: string;
}

/** One thing that is wrong: which variable, what it holds (secrets masked), and what it may hold. */
export interface SettingProblem {
  readonly name: string;
  readonly value: string | undefined;
  readonly allowed: string;
}

/** One line of the settings table of a program. */
export interface SettingRow {
  readonly names: readonly string[];
  readonly type: string;
  readonly default: string;
  readonly effect: string;
}

/** Everything that is wrong with the environment, in one message with a line per problem. */
export class SettingsError extends ServiceError<"SETTINGS_INVALID"> {
  override readonly name = "SettingsError";
  readonly problems: readonly SettingProblem[];

  constructor(problems: readonly SettingProblem[]) {
    const count = problems.length === 1 ? "one setting is wrong" : `${problems.length} settings are wrong`;
    super(
      "SETTINGS_INVALID",
      [`Cannot read the settings: ${count}`, ...problems.map((problem) => `  ${describeProblem(problem)}`)].join("\n"),
    );
    this.problems = problems;
  }
}

/**
 * Reads one setting per call, remembers every problem, and answers the default where a value is wrong, so that reading goes on to the end;
 * {@link EnvReader.done} then throws one error for all of them.
 */
export interface EnvReader {
  /** Any text. */
  string(names: Names, described: Described<string>): string;
  /** Any text, or undefined when not set. */
  optionalString(names: Names, described: Pick<Described<string>, "effect">): string | undefined;
  /** A whole number in Go's syntax (`0x1f`, `0o17`, `1_000`), from `min` to `max`, both included. */
  integer(names: Names, described: Described<number> & Range): number;
  /** A finite decimal number from `min` to `max`, both included. */
  number(names: Names, described: Described<number> & Range): number;
  /** A number from 0 to 1. */
  ratio(names: Names, described: Described<number>): number;
  /** A port number from 0 to 65535; 0 takes any free one. */
  port(names: Names, described: Described<number>): number;
  /** A boolean in Go's syntax: 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False. */
  boolean(names: Names, described: Described<boolean>): boolean;
  /**
   * A duration in Go's syntax, in milliseconds; the default is written in that syntax too. With `bareUnit` a number without a unit counts in
   * that unit. There is no upper bound of its own: what becomes a timer needs `maxMs: TIMER_MAX_MS` or a Math.min.
   */
  durationMs(
    names: Names,
    described: Described<string> & { readonly bareUnit?: "ms" | "s"; readonly minMs?: number; readonly maxMs?: number },
  ): number;
  /** A size in bytes: a whole number, with or without KiB, MiB, GiB, kB, MB, GB. */
  sizeBytes(names: Names, described: Described<number> & Range): number;
  /** One of some words; `synonyms` maps further spellings to a choice. */
  oneOf<T extends string>(names: Names, described: Described<T> & Choices<T>): T;
  /** Words separated by commas, trimmed, empty ones dropped; an empty list when not set. */
  list(names: Names, described: Pick<Described<string>, "effect">): readonly string[];
  /** Pairs `key:value` separated by commas; a value may be empty and may hold the separator; of equal keys the last stands. */
  map(names: Names, described: Pick<Described<string>, "effect"> & { readonly separator?: ":" | "=" }): ReadonlyMap<string, string>;
  /** A secret from NAME, or from the file that NAME_FILE names (one line end at its end is dropped). */
  secret(names: Names, described: Pick<Described<string>, "effect">): Secret | undefined;
  /** Records a problem found by the caller, such as two settings that contradict each other. Never pass a secret as `value`. */
  problem(name: string, value: string | undefined, allowed: string): void;
  /** Every setting read so far, in the order of reading. */
  rows(): readonly SettingRow[];
  /** Throws one SettingsError with every problem found so far; does nothing when there is none. */
  done(): void;
}

/** Bounds of a number, both included. */
export interface Range {
  readonly min?: number;
  readonly max?: number;
}

/** The words that a setting may hold. */
export interface Choices<T extends string> {
  readonly choices: readonly T[];
  /** Further spellings and the choice that each stands for. */
  readonly synonyms?: Readonly<Record<string, T>>;
  /** True accepts any letter case. */
  readonly ignoreCase?: boolean;
}

/** Where the reader gets files from; only `NAME_FILE` variables of secrets are read. */
export interface ReadEnvDeps {
  readonly readFile?: (path: string) => string;
}

/** Starts reading settings from `env`. */
export function readEnv(env: Env, deps: ReadEnvDeps = {}): EnvReader {
  return new EnvSettings(env, deps.readFile ?? ((path) => readFileSync(path, "utf8")));
}

/** A text found in the environment under one of the names of a setting. */
interface Found {
  readonly name: string;
  readonly text: string;
}

class EnvSettings implements EnvReader {
  readonly #env: Env;
  readonly #readFile: (path: string) => string;
  readonly #rows: SettingRow[] = [];
  readonly #problems: SettingProblem[] = [];

  constructor(env: Env, readFile: (path: string) => string) {
    this.#env = env;
    this.#readFile = readFile;
  }

  string(names: Names, described: Described<string>): string {
    this.#row(names, "text", described.default, described.effect);
    return this.#find(names)?.text ?? described.default;
  }

  optionalString(names: Names, described: Pick<Described<string>, "effect">): string | undefined {
    this.#row(names, "text", "", described.effect);
    return this.#find(names)?.text;
  }

  integer(names: Names, described: Described<number> & Range): number {
    return this.#bounded(names, described, { type: "integer", noun: "a whole number", parse: parseInteger, show: String });
  }

  number(names: Names, described: Described<number> & Range): number {
    return this.#bounded(names, described, { type: "number", noun: "a number", parse: parseNumber, show: String });
  }

  ratio(names: Names, described: Described<number>): number {
    return this.#bounded(names, { ...described, min: 0, max: 1 }, { type: "ratio", noun: "a number", parse: parseNumber, show: String });
  }

  port(names: Names, described: Described<number>): number {
    const range = { min: 0, max: PORT_MAX };
    return this.#bounded(names, { ...described, ...range }, { type: "port", noun: "a port number", parse: parseInteger, show: String });
  }

  boolean(names: Names, described: Described<boolean>): boolean {
    return this.#parsed(names, described, {
      type: "boolean",
      allowed: "true or false (also 1, t, T, TRUE, True, 0, f, F, FALSE, False)",
      parse: parseBoolean,
    });
  }

  durationMs(names: Names, described: Described<string> & { bareUnit?: "ms" | "s"; minMs?: number; maxMs?: number }): number {
    const fallback = parseDurationMs(described.default);
    if (fallback === undefined)
      throw new TypeError(`Cannot use "${described.default}" as default of ${nameOf(names)}: it is not a duration`);
    const { bareUnit, minMs = 0, maxMs = Number.MAX_VALUE } = described;
    const bare = bareUnit === undefined ? "" : `, or a number of ${bareUnit === "s" ? "seconds" : "milliseconds"}`;
    const bounds = rangeText({ ...(minMs > 0 && { min: minMs }), ...(maxMs < Number.MAX_VALUE && { max: maxMs }) }, (ms) => `${ms}ms`);
    this.#row(names, "duration", described.default, described.effect);
    return this.#value(names, fallback, `a duration such as 500ms, 10s or 1h30m${bare}${bounds}`, (text) => {
      const ms = parseDurationMs(bareUnit !== undefined && /^\d+(\.\d+)?$/.test(text) ? text + bareUnit : text);
      return ms === undefined || ms < minMs || ms > maxMs ? undefined : ms;
    });
  }

  sizeBytes(names: Names, described: Described<number> & Range): number {
    return this.#bounded(
      names,
      { min: 0, ...described },
      { type: "size", noun: "a size such as 65536, 512KiB or 4MiB", parse: parseSizeBytes, show: String },
    );
  }

  oneOf<T extends string>(names: Names, described: Described<T> & Choices<T>): T {
    const { choices, synonyms = {}, ignoreCase = false } = described;
    const fold = (text: string): string => (ignoreCase ? text.toLowerCase() : text);
    const meanings = new Map<string, T>();
    for (const [spelling, choice] of Object.entries<T>(synonyms)) meanings.set(fold(spelling), choice);
    for (const choice of choices) meanings.set(fold(choice), choice);
    const also = Object.keys(synonyms).length === 0 ? "" : ` (also ${Object.keys(synonyms).join(", ")})`;
    const parse = (text: string): T | undefined => meanings.get(fold(text));
    return this.#parsed(names, described, { type: choices.join(" | "), allowed: `one of ${choices.join(", ")}${also}`, parse });
  }

  list(names: Names, described: Pick<Described<string>, "effect">): readonly string[] {
    this.#row(names, "list a,b,…", "", described.effect);
    return splitList(this.#find(names)?.text);
  }

  map(names: Names, described: Pick<Described<string>, "effect"> & { separator?: ":" | "=" }): ReadonlyMap<string, string> {
    const { separator = ":" } = described;
    this.#row(names, `pairs k${separator}v,…`, "", described.effect);
    return this.#value<ReadonlyMap<string, string>>(names, new Map(), `pairs key${separator}value separated by commas`, (text) => {
      const pairs = splitList(text).map((pair) => splitPair(pair, separator));
      return pairs.every((pair) => pair !== undefined) ? new Map(pairs) : undefined;
    });
  }

  secret(names: Names, described: Pick<Described<string>, "effect">): Secret | undefined {
    this.#row(names, "secret, or its file in NAME_FILE", "", described.effect);
    const found = namesOf(names).flatMap((name) => this.#findSecret(name));
    this.#refuseContradiction(found, true);
    return found[0] === undefined ? undefined : new Secret(found[0].text);
  }

  problem(name: string, value: string | undefined, allowed: string): void {
    this.#problems.push({ name, value: value === undefined ? undefined : quotable(value), allowed });
  }

  rows(): readonly SettingRow[] {
    return [...this.#rows];
  }

  done(): void {
    if (this.#problems.length > 0) throw new SettingsError([...this.#problems]);
  }

  #bounded(names: Names, described: Described<number> & Range, kind: Kind<number>): number {
    const { min = -Infinity, max = Infinity } = described;
    const parse = (text: string): number | undefined => {
      const value = kind.parse(text);
      return value === undefined || value < min || value > max ? undefined : value;
    };
    return this.#parsed(names, described, { type: kind.type, allowed: kind.noun + rangeText(described, kind.show), parse });
  }

  #parsed<T extends string | number | boolean>(
    names: Names,
    described: Described<T>,
    kind: { type: string; allowed: string; parse: (text: string) => T | undefined },
  ): T {
    this.#row(names, kind.type, String(described.default), described.effect);
    return this.#value(names, described.default, kind.allowed, kind.parse);
  }

  #value<T>(names: Names, fallback: T, allowed: string, parse: (text: string) => T | undefined): T {
    const found = this.#find(names);
    if (found === undefined) return fallback;
    const value = parse(found.text.trim());
    if (value === undefined) this.problem(found.name, found.text, allowed);
    return value ?? fallback;
  }

  #find(names: Names): Found | undefined {
    const found = namesOf(names).flatMap((name) => {
      const text = this.#env[name];
      return text === undefined || text === "" ? [] : [{ name, text }];
    });
    this.#refuseContradiction(found, false);
    return found[0];
  }

  #findSecret(name: string): readonly Found[] {
    const text = this.#env[name] ?? "";
    const path = this.#env[`${name}_FILE`] ?? "";
    const found: Found[] = text === "" ? [] : [{ name, text }];
    if (path !== "") found.push(...this.#readSecretFile(`${name}_FILE`, path));
    return found;
  }

  #readSecretFile(name: string, path: string): readonly Found[] {
    try {
      const text = this.#readFile(path).replace(/\r?\n$/, "");
      if (text !== "") return [{ name, text }];
      this.problem(name, path, "the path of a file that is not empty");
    } catch (error) {
      this.problem(name, path, `the path of a readable file (${describeError(error)})`);
    }
    return [];
  }

  /** A name and its alias with different values: which one was meant is anybody's guess, so nobody guesses. */
  #refuseContradiction(found: readonly Found[], isSecret: boolean): void {
    const [first, ...rest] = found;
    const other = rest.find((candidate) => candidate.text !== first?.text);
    if (first === undefined || other === undefined) return;
    const shown = isSecret ? "a different value" : `the different value "${quotable(other.text)}"`;
    this.problem(first.name, isSecret ? REDACTED : first.text, `only one value, but ${other.name} is the same setting and holds ${shown}`);
  }

  #row(names: Names, type: string, fallback: string, effect: string): void {
    this.#rows.push({ names: namesOf(names), type, default: fallback, effect });
  }
}

/** How a kind of number is read and named. */
interface Kind<T> {
  readonly type: string;
  readonly noun: string;
  readonly parse: (text: string) => T | undefined;
  readonly show: (value: T) => string;
}

function namesOf(names: Names): readonly string[] {
  return typeof names === "string" ? [names] : names;
}

function nameOf(names: Names): string {
  return typeof names === "string" ? names : names[0];
}

function rangeText(range: Range, show: (value: number) => string): string {
  const { min, max } = range;
  if (min !== undefined && max !== undefined) return ` from ${show(min)} to ${show(max)}`;
  if (min !== undefined) return ` of at least ${show(min)}`;
  return max === undefined ? "" : ` of at most ${show(max)}`;
}

function splitList(text: string | undefined): readonly string[] {
  return (text ?? "")
    .split(",")
    .map((word) => word.trim())
    .filter((word) => word !== "");
}

function splitPair(pair: string, separator: string): readonly [key: string, value: string] | undefined {
  const at = pair.indexOf(separator);
  return at <= 0 ? undefined : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
}

function quotable(value: string): string {
  const masked = maskCredentials(value);
  return masked.length > QUOTED_VALUE_MAX ? `${masked.slice(0, QUOTED_VALUE_MAX)}…` : masked;
}

function describeProblem({ name, value, allowed }: SettingProblem): string {
  return `${name}${value === undefined ? " is not set" : `=${value === REDACTED ? value : JSON.stringify(value)}`}: allowed is ${allowed}`;
}
