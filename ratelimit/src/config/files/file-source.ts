// Rule files as a source of configuration. Level-triggered: whatever wakes it (an event, a tick,
// SIGHUP), it compares the state of the directory with the state last loaded, and loads everything
// again when they differ. What a file says is rule-file.ts.
import { readFile } from "node:fs/promises";
import { setImmediate } from "node:timers/promises";

import { FolderWatch } from "@weir/common/files/folder-watch";
import { errorCode } from "@weir/common/errors/error-code";
import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";

import type { ConfigListener, ConfigSource } from "../config-source.ts";
import { ConfigError } from "../errors.ts";
import {
  type DirectoryState,
  readRuleDirectory,
  ruleFolder,
  type RuleDirectoryOptions,
  type RuleFileEntry,
} from "./rule-directory.ts";
import { parseRuleFileInSteps, RULE_FILE_MAX_BYTES, type RuleFileResult } from "./rule-file.ts";

/**
 * How often the directory is looked at when no event came, in milliseconds: events get lost on
 * network mounts and when a watch has to be renewed.
 */
const POLL_INTERVAL_MS = 2000;

/**
 * How long after an event the directory is looked at, in milliseconds: whoever writes one file
 * often writes the next.
 */
const SETTLE_MS = 50;

/** Most skipped entries that are remembered as already told. */
const TOLD_MAX = 1000;

/** What the source needs. */
export interface FileSourceDeps {
  readonly listener: ConfigListener;
  readonly log: Log;
}

/** Where the files are, and how often to look. */
export interface FileSourceOptions extends RuleDirectoryOptions {
  /** For tests: instead of POLL_INTERVAL_MS. */
  readonly pollIntervalMs?: number;
}

/** The rule files of a directory. */
export function createFileSource(deps: FileSourceDeps, options: FileSourceOptions): ConfigSource {
  return new FileSource(deps, options);
}

type ParsedFile = Extract<RuleFileResult, { ok: true }> & RuleFileEntry;

/** Why nothing could be loaded, with the place. */
interface Refusal {
  readonly error: ConfigError;
  readonly file?: string;
  readonly line?: number | undefined;
  readonly column?: number | undefined;
}

class FileSource implements ConfigSource {
  readonly name = "configuration files";
  readonly #deps: FileSourceDeps;
  readonly #options: FileSourceOptions;
  readonly #watch: FolderWatch;
  /** Fingerprint of the state that was last loaded, well or badly; undefined asks for a load. */
  #loaded: string | undefined;
  /**
   * The last message about a directory that cannot be read, so that it is told once and not at
   * every tick.
   */
  #unreadable: string | undefined;
  readonly #told = new Set<string>();
  #pollTimer: NodeJS.Timeout | undefined;
  #settleTimer: NodeJS.Timeout | undefined;
  /** The look that is going on. */
  #looking: Promise<void> | undefined;
  #isLookDue = false;
  #isStopped = false;

  constructor(deps: FileSourceDeps, options: FileSourceOptions) {
    this.#deps = deps;
    this.#options = options;
    this.#watch = new FolderWatch({ log: deps.log, changed: () => this.#settle() });
  }

  async start(): Promise<void> {
    this.#pollTimer = setInterval(() => this.#lookSoon(), this.#options.pollIntervalMs ?? POLL_INTERVAL_MS);
    this.#lookSoon();
    await this.#looking;
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    clearInterval(this.#pollTimer);
    clearTimeout(this.#settleTimer);
    this.#watch.close();
    await this.#looking;
  }

  reload(): void {
    this.#loaded = undefined;
    this.#unreadable = undefined;
    this.#told.clear();
    this.#lookSoon();
  }

  #settle(): void {
    clearTimeout(this.#settleTimer);
    this.#settleTimer = setTimeout(() => this.#lookSoon(), SETTLE_MS);
  }

  /**
   * Looks now, or once more after the look that is going on: an event during a look may be about
   * what it has already seen.
   */
  #lookSoon(): void {
    if (this.#isStopped) return;
    this.#isLookDue = true;
    this.#looking ??= this.#lookWhileDue().finally(() => {
      this.#looking = undefined;
    });
  }

  async #lookWhileDue(): Promise<void> {
    while (this.#isLookDue && !this.#isStopped) {
      this.#isLookDue = false;
      await this.#look();
    }
  }

  async #look(): Promise<void> {
    let state: DirectoryState;
    try {
      state = await readRuleDirectory(this.#options);
    } catch (cause) {
      this.#reportUnreadable(cause);
      return;
    }
    this.#unreadable = undefined;
    const isNew = state.fingerprint !== this.#loaded;
    // Before the files are read, so that a later change makes an event; anew when something
    // changed, because a folder may have been replaced.
    this.#watch.watch(state.folders, { renew: isNew });
    this.#reportSkipped(state);
    if (!isNew) return;
    const files = await this.#read(state);
    const isWhole = files !== "changed" && (await this.#isStill(state));
    if (this.#isStopped) return;
    if (!isWhole) {
      this.#settle();
      return;
    }
    this.#loaded = state.fingerprint;
    this.#offer(files);
  }

  /**
   * Whether the directory is as it was when it was looked at, so that what was read since belongs
   * together: a link that is swapped meanwhile makes a list of files that are gone, or files of two
   * versions. What changes after this makes an event.
   */
  async #isStill({ fingerprint, content }: DirectoryState): Promise<boolean> {
    try {
      const now = await readRuleDirectory(this.#options);
      return now.fingerprint === fingerprint && now.content === content;
    } catch {
      return false; // The next look tells why it cannot be read.
    }
  }

  /**
   * Every file of the state, the first refusal in their order, or "changed" when the state is
   * already another.
   */
  async #read(state: DirectoryState): Promise<readonly ParsedFile[] | Refusal | "changed"> {
    const files: ParsedFile[] = [];
    for (const entry of state.files) {
      if (entry.sizeBytes > RULE_FILE_MAX_BYTES) return tooLarge(entry);
      let text: string;
      try {
        text = decode(await readFile(entry.path));
      } catch (cause) {
        if (isGone(cause)) return "changed";
        return cause instanceof TypeError ? notText(entry) : unreadable(entry, cause);
      }
      const result = await inTurns(parseRuleFileInSteps(entry.name, text));
      if (!result.ok) return { error: result.error, file: entry.path, line: result.line, column: result.column };
      files.push({ ...entry, ...result });
    }
    return files;
  }

  #offer(files: readonly ParsedFile[] | Refusal): void {
    if ("error" in files) {
      this.#deps.listener.reject(files.error);
      this.#logRefusal(files);
      return;
    }
    const error = this.#deps.listener.apply(files.map((file) => file.model));
    if (error !== undefined) {
      this.#logRefusal(locateProblem(error, files));
      return;
    }
    this.#deps.log.info("Successfully loaded new configuration", {
      folder: ruleFolder(this.#options),
      files: files.length,
    });
  }

  #logRefusal({ error, file, line, column }: Refusal): void {
    this.#deps.log.error("Error loading new configuration, what was in force stays", {
      error: describeError(error),
      file,
      line,
      column,
    });
  }

  #reportUnreadable(cause: unknown): void {
    const reason = isGone(cause) ? "there is no such folder" : describeError(cause);
    if (reason === this.#unreadable) return;
    this.#unreadable = reason;
    this.#loaded = undefined; // When it is back it is loaded, even if it looks as before.
    const message = `Cannot read the rule files in ${ruleFolder(this.#options)}: ${reason}; RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY say where they are`;
    const error = new ConfigError("CONFIG_SOURCE_UNAVAILABLE", message);
    this.#deps.listener.reject(error);
    this.#deps.log.error("Error loading new configuration, what was in force stays", { error });
  }

  #reportSkipped(state: DirectoryState): void {
    for (const [path, reason] of state.skipped) {
      if (this.#told.has(path) || this.#told.size >= TOLD_MAX) continue;
      this.#told.add(path);
      this.#deps.log.warn("not a rule file, skipped", { path, reason });
    }
  }
}

/** Takes one step per turn of the event loop, so that calls are answered meanwhile. */
async function inTurns<Result>(steps: Generator<void, Result>): Promise<Result> {
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
    await setImmediate();
  }
}

/** Throws a TypeError when the bytes are no UTF-8. */
function decode(bytes: Buffer): string {
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

function notText(entry: RuleFileEntry): Refusal {
  return {
    error: new ConfigError("CONFIG_INVALID", `${entry.name}: error loading config file: yaml: invalid UTF-8`),
    file: entry.path,
  };
}

function tooLarge(entry: RuleFileEntry): Refusal {
  const message = `${entry.name}: error loading config file: it is larger than ${RULE_FILE_MAX_BYTES} bytes, current size is ${entry.sizeBytes}`;
  return { error: new ConfigError("CONFIG_INVALID", message), file: entry.path };
}

function unreadable(entry: RuleFileEntry, cause: unknown): Refusal {
  const message = `Cannot read the rule file ${entry.path}: ${describeError(cause)}`;
  return { error: new ConfigError("CONFIG_SOURCE_UNAVAILABLE", message, { cause }), file: entry.path };
}

function isGone(error: unknown): boolean {
  return errorCode(error) === "ENOENT";
}

/** The place of a problem that was found between or in the models. */
function locateProblem(error: ConfigError, files: readonly ParsedFile[]): Refusal {
  const file = files[error.problem?.config ?? -1];
  if (file === undefined || error.problem === undefined) return { error };
  return { error, file: file.path, ...file.positionOf(error.problem.path) };
}
