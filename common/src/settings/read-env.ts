// Reads typed settings from the environment: names with aliases, units, defaults, and one error for all
// problems.
import { readFileSync } from "node:fs";

import { describeError, ServiceError } from "../errors/service-error.ts";
import { cutText } from "../text/cut-text.ts";
import { everyHost } from "./listen-hosts.ts";
import { parseDurationMs } from "./parse-values.ts";
import { maskCredentials, REDACTED, Secret, secretInFile } from "./secret.ts";
import {
  BOOLEAN,
  type Choices,
  choiceKind,
  durationKind,
  type DurationRange,
  integerKind,
  LIST,
  numberKind,
  pairsKind,
  PORT,
  type Range,
  RATIO,
  sizeKind,
  TEXT,
  type ValueKind,
} from "./value-kinds.ts";

/** Longest part of a wrong value that a problem quotes. */
const QUOTED_VALUE_MAX_BYTES = 203;

/**
 * The environment as Node gives it. A variable that is set to the empty string counts as not set.
 */
export type Env = Readonly<Record<string, string | undefined>>;

/** The name of a setting, or its primary name followed by aliases. */
export type Names = string | readonly [primary: string, ...aliases: string[]];

/** The default of a setting, and in one sentence its effect. */
export interface Described<T> {
  readonly default: T;
  readonly effect: string;
}

/** The description of a setting without a default. */
export type Effect = Pick<Described<unknown>, "effect">;

/**
 * One problem: the variable, its value (secrets masked), and the allowed values.
 */
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

/** All problems with the environment, in one message with a line per problem. */
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

/** Reads the files that `NAME_FILE` variables of secrets name. */
export interface ReadEnvDeps {
  readonly readFile?: (path: string) => string;
}

/** A text found in the environment under one of the names of a setting. */
interface Found {
  readonly name: string;
  readonly text: string;
  /** The file that holds it. */
  readonly path?: string;
}

/**
 * Reads one setting per call. Collects every problem and returns the default where a value is wrong,
 * so that all settings are read; {@link EnvReader.done} then throws one error for all problems.
 */
export class EnvReader {
  readonly #env: Env;
  readonly #readFile: (path: string) => string;
  readonly #rows: SettingRow[] = [];
  readonly #problems: SettingProblem[] = [];

  constructor(env: Env, { readFile = (path) => readFileSync(path, "utf8") }: ReadEnvDeps = {}) {
    this.#env = env;
    this.#readFile = readFile;
  }

  /** Any text. */
  string(names: Names, described: Described<string>): string {
    return this.#setting(names, described, TEXT);
  }

  /** Any text, or undefined when not set. */
  optionalString(names: Names, { effect }: Effect): string | undefined {
    return this.#setting(names, { default: undefined, effect }, TEXT);
  }

  /** The address of a listener. Not set: every address of this machine, of both families where it has IPv6. */
  host(names: Names, { effect }: Effect): string {
    return (
      this.optionalString(names, { effect: `${effect}; not set, every address, of IPv4 and IPv6.` }) ?? everyHost()
    );
  }

  /**
   * A whole number in Go's syntax (`0x1f`, `0o17`, `1_000`), from `min` to `max`, both included.
   */
  integer(names: Names, described: Described<number> & Range): number {
    return this.#setting(names, described, integerKind(described));
  }

  /** A finite decimal number from `min` to `max`, both included. */
  number(names: Names, described: Described<number> & Range): number {
    return this.#setting(names, described, numberKind(described));
  }

  /** A number from 0 to 1. */
  ratio(names: Names, described: Described<number>): number {
    return this.#setting(names, described, RATIO);
  }

  /** A port number from 0 to 65535; 0 takes any free one. */
  port(names: Names, described: Described<number>): number {
    return this.#setting(names, described, PORT);
  }

  /** A boolean in Go's syntax: 1, t, T, TRUE, true, True, 0, f, F, FALSE, false, False. */
  boolean(names: Names, described: Described<boolean>): boolean {
    return this.#setting(names, described, BOOLEAN);
  }

  /**
   * A duration in Go's syntax, in milliseconds; the default is written in that syntax too. Has no
   * upper bound of its own: set `isTimer` for what becomes the delay of a timer.
   */
  durationMs(names: Names, { default: written, effect, ...range }: Described<string> & DurationRange): number {
    const defaultMs = parseDurationMs(written, range);
    if (defaultMs === undefined)
      throw new TypeError(`Cannot use ${JSON.stringify(written)} as a default: it is not a duration`);
    return this.#setting(names, { default: defaultMs, effect }, durationKind(range), written);
  }

  /** A size in bytes: a whole number, with or without KiB, MiB, GiB, kB, MB, GB. */
  sizeBytes(names: Names, described: Described<number> & Range): number {
    return this.#setting(names, described, sizeKind(described));
  }

  /** The same, or undefined when not set. */
  optionalSizeBytes(names: Names, { effect, ...range }: Effect & Range): number | undefined {
    return this.#setting(names, { default: undefined, effect }, sizeKind(range));
  }

  /** One of some words; `synonyms` maps further spellings to a choice. */
  oneOf<T extends string>(names: Names, described: Described<T> & Choices<T>): T {
    return this.#setting(names, described, choiceKind(described));
  }

  /** Words separated by commas, trimmed, empty ones dropped; an empty list when not set. */
  list(names: Names, { effect }: Effect): readonly string[] {
    return this.#setting(names, { default: [], effect }, LIST, "");
  }

  /**
   * Pairs `key:value` separated by commas; a value may be empty and may contain the separator; the
   * last of equal keys counts.
   */
  map(
    names: Names,
    { effect, separator = ":" }: Effect & { readonly separator?: ":" | "=" },
  ): ReadonlyMap<string, string> {
    return this.#setting(names, { default: new Map<string, string>(), effect }, pairsKind(separator), "");
  }

  /**
   * A secret from NAME, or from the file that NAME_FILE names (one line end at its end is dropped).
   */
  secret(names: Names, { effect }: Effect): Secret | undefined {
    this.#rows.push({ names: namesOf(names), type: "secret, or NAME_FILE", default: "", effect });
    const found = namesOf(names).flatMap((name) => this.#findSecret(name));
    this.#refuseContradiction(found, true);
    return found[0] === undefined ? undefined : new Secret(found[0].text, { path: found[0].path });
  }

  /**
   * Records a problem found by the caller, such as two settings that contradict each other. Never
   * pass a secret as `value`. A primary name becomes that of the alias under which the setting was
   * found.
   */
  problem(names: Names, value: string | undefined, allowed: string): void {
    const [name = ""] = namesOf(names);
    this.#problems.push({
      name: this.#spellingOf(name),
      value: value === undefined ? undefined : quotable(value),
      allowed,
    });
  }

  /** Returns true if the environment has a value for the setting. */
  isSet(names: Names): boolean {
    return namesOf(names).some((name) => (this.#env[name] ?? "") !== "");
  }

  /** Every setting read so far, in the order of reading. */
  rows(): readonly SettingRow[] {
    return [...this.#rows];
  }

  /** Throws one SettingsError with every problem found so far; does nothing when there is none. */
  done(): void {
    if (this.#problems.length > 0) throw new SettingsError([...this.#problems]);
  }

  /** Reads one setting and notes its row; `shownDefault` is how the table writes the default. */
  #setting<T>(
    names: Names,
    { default: fallback, effect }: Described<T>,
    kind: ValueKind<T>,
    shownDefault = String(fallback ?? ""),
  ): T {
    this.#rows.push({ names: namesOf(names), type: kind.type, default: shownDefault, effect });
    const found = this.#find(names);
    if (found === undefined) return fallback;
    const value = kind.parse(found.text);
    if (value === undefined) this.problem(found.name, found.text, kind.allowed);
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
      const text = secretInFile(this.#readFile(path));
      if (text !== "") return [{ name, text, path }];
      this.problem(name, path, "the path of a file that is not empty");
    } catch (error) {
      this.problem(name, path, `the path of a readable file (${describeError(error)})`);
    }
    return [];
  }

  /**
   * The name under which a setting was found: a user who has set REDIS_URL looks for that name, not
   * for the primary one.
   */
  #spellingOf(name: string): string {
    const names = this.#rows.find((row) => row.names[0] === name)?.names ?? [];
    return names.find((each) => this.isSet(each)) ?? name;
  }

  /**
   * Reports a name and its alias with different values: it is unknown which one is meant.
   */
  #refuseContradiction(found: readonly Found[], isSecret: boolean): void {
    const [first, ...rest] = found;
    const other = rest.find((candidate) => candidate.text !== first?.text);
    if (first === undefined || other === undefined) return;
    const shown = isSecret ? "a different value" : `the different value "${quotable(other.text)}"`;
    this.problem(
      first.name,
      isSecret ? REDACTED : first.text,
      `only one value, but ${other.name} is the same setting and holds ${shown}`,
    );
  }
}

function namesOf(names: Names): readonly string[] {
  return typeof names === "string" ? [names] : names;
}

function quotable(value: string): string {
  return cutText(maskCredentials(value), QUOTED_VALUE_MAX_BYTES);
}

function describeProblem({ name, value, allowed }: SettingProblem): string {
  return `${name}${value === undefined ? " is not set" : `=${value === REDACTED ? value : JSON.stringify(value)}`}: allowed is ${allowed}`;
}
