// The rule files of a directory as a source of configuration. Level-triggered: an event, a tick or SIGHUP makes it compare
// the directory with what was last loaded, and load everything again when they differ.
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";

import { FolderWatch } from "@weir/common/files/folder-watch";
import { errorCode } from "@weir/common/errors/error-code";
import { describeError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import type { SourceLocation } from "@weir/limits/go-yaml/node";
import type { FieldPath } from "@weir/limits/model/field-path";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { parseRuleFileInSteps, RULE_FILE_MAX_BYTES } from "@weir/limits/rule-file/rule-file";

import type { ConfigListener, ConfigSource } from "../config-source.ts";
import { ConfigError } from "../errors.ts";
import { timeSlicedLoad } from "../time-sliced-load.ts";
import {
  type DirectoryState,
  readRuleDirectory,
  type RuleDirectoryOptions,
  type RuleFileEntry,
  ruleFolder,
} from "./rule-directory.ts";

/**
 * Interval of polling, in milliseconds: events get lost on network mounts and when a watch has to
 * be renewed.
 */
const POLL_INTERVAL_MS = 2000;

/** Delay after an event, in milliseconds: a program that writes one file often writes the next. */
const SETTLE_MS = 50;

/** Most skipped entries that are remembered as already logged. */
const LOGGED_MAX = 1000;

export interface FileSourceDeps {
  readonly listener: ConfigListener;
  readonly log: Log;
}

/** The directory of the files, and how often to look. */
export interface FileSourceOptions extends RuleDirectoryOptions {
  /** For tests: instead of POLL_INTERVAL_MS. */
  readonly pollIntervalMs?: number;
}

/** A file with its rules, without the tree that it was parsed to: that is many times as large. */
interface ParsedFile extends RuleFileEntry {
  readonly digest: string;
  readonly model: RateLimitConfigModel;
}

/** Why a directory cannot be loaded, with the file and the place in it. */
interface Rejection {
  readonly error: ConfigError;
  readonly file?: string;
  readonly at?: SourceLocation | undefined;
}

/** The rule files of a directory. */
export class FileSource implements ConfigSource {
  readonly name = "configuration files";
  readonly #deps: FileSourceDeps;
  readonly #options: FileSourceOptions;
  readonly #watch: FolderWatch;
  /** Fingerprint of the state that was last loaded, well or badly; undefined asks for a load. */
  #loaded: string | undefined;
  /** Why the directory could not be read the last time, to log it once and not at every tick. */
  #unreadable: string | undefined;
  /** The files of the last directory that could be read, by path: one that has not changed keeps its rules. */
  #parsed: ReadonlyMap<string, ParsedFile> = new Map();
  readonly #logged = new Set<string>();
  #pollTimer: NodeJS.Timeout | undefined;
  #settleTimer: NodeJS.Timeout | undefined;
  /** The look that is under way. */
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
    this.#parsed = new Map();
    this.#unreadable = undefined;
    this.#logged.clear();
    this.#lookSoon();
  }

  #settle(): void {
    clearTimeout(this.#settleTimer);
    this.#settleTimer = setTimeout(() => this.#lookSoon(), SETTLE_MS);
  }

  /**
   * Looks now, or once more after the look that is under way: an event during a look may be about
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
    await this.#apply(files);
  }

  /**
   * Resolves to true if the directory has not changed since it was looked at, so that what was read
   * since belongs together: a link that is swapped meanwhile gives a list of files that are gone, or
   * files of two versions. A change after this makes an event.
   */
  async #isStill({ fingerprint, content, isWhole }: DirectoryState): Promise<boolean> {
    try {
      const now = await readRuleDirectory(this.#options);
      return isWhole && now.isWhole && now.fingerprint === fingerprint && now.content === content;
    } catch {
      return false; // The next look reports why it cannot be read.
    }
  }

  /**
   * Every file of the state, the first rejection in their order, or "changed" when the state is
   * already another.
   */
  async #read(state: DirectoryState): Promise<readonly ParsedFile[] | Rejection | "changed"> {
    const files: ParsedFile[] = [];
    for (const entry of state.files) {
      const { path, name, sizeBytes } = entry;
      const known = this.#parsed.get(path);
      if (known?.stamp === entry.stamp) {
        files.push(known);
        continue;
      }
      const reject = (message: string, at?: SourceLocation): Rejection => ({
        error: new ConfigError("CONFIG_INVALID", message),
        file: path,
        at,
      });
      if (sizeBytes > RULE_FILE_MAX_BYTES) {
        const excess = `it is larger than ${RULE_FILE_MAX_BYTES} bytes, current size is ${sizeBytes}`;
        return reject(`${name}: error loading config file: ${excess}`);
      }
      let bytes: Buffer;
      let text: string;
      try {
        bytes = await readFile(path);
        text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      } catch (cause) {
        if (isGone(cause)) return "changed";
        if (cause instanceof TypeError) return reject(`${name}: error loading config file: yaml: invalid UTF-8`);
        const message = `Cannot read the rule file ${path}: ${describeError(cause)}`;
        return { error: new ConfigError("CONFIG_SOURCE_UNAVAILABLE", message, { cause }), file: path };
      }
      const digest = hash("sha256", bytes, "base64");
      if (known?.digest === digest) {
        files.push({ ...known, ...entry });
        continue;
      }
      const result = await timeSlicedLoad(parseRuleFileInSteps(name, text));
      if (!result.ok) return reject(result.message, result.at);
      files.push({ ...entry, digest, model: result.model });
    }
    this.#parsed = new Map(files.map((file) => [file.path, file]));
    return files;
  }

  async #apply(files: readonly ParsedFile[] | Rejection): Promise<void> {
    if ("error" in files) {
      this.#deps.listener.reject(files.error);
      this.#logRejection(files);
      return;
    }
    const error = await this.#deps.listener.apply(files.map((file) => file.model));
    if (error !== undefined) {
      const { problem } = error;
      const file = files[problem?.config ?? -1];
      this.#logRejection(
        file === undefined || problem === undefined
          ? { error }
          : { error, file: file.path, at: await locationIn(file, problem.path) },
      );
      return;
    }
    this.#deps.log.info("Successfully loaded new configuration", {
      folder: ruleFolder(this.#options),
      files: files.length,
    });
  }

  #logRejection({ error, file, at }: Rejection): void {
    this.#deps.log.error("Error loading new configuration, keeping the active rules", {
      error: describeError(error),
      file,
      line: at?.line,
      column: at?.column,
    });
  }

  #reportUnreadable(cause: unknown): void {
    const reason = isGone(cause) ? "the folder does not exist" : describeError(cause);
    if (reason === this.#unreadable) return;
    this.#unreadable = reason;
    this.#loaded = undefined; // When it is back it is loaded, even if it looks as before.
    const message = `Cannot read the rule files in ${ruleFolder(this.#options)}: ${reason}; RUNTIME_ROOT, RUNTIME_SUBDIRECTORY and RUNTIME_APPDIRECTORY say where they are`;
    const error = new ConfigError("CONFIG_SOURCE_UNAVAILABLE", message);
    this.#deps.listener.reject(error);
    this.#deps.log.error("Error loading new configuration, keeping the active rules", { error });
  }

  #reportSkipped(state: DirectoryState): void {
    for (const [path, reason] of state.skipped) {
      if (this.#logged.has(path) || this.#logged.size >= LOGGED_MAX) continue;
      this.#logged.add(path);
      this.#deps.log.warn("Skipped an entry that is not a rule file", { path, reason });
    }
  }
}

/** The place of a field in a file, if that is still the same. */
async function locationIn({ path, name, digest }: ParsedFile, field: FieldPath): Promise<SourceLocation | undefined> {
  const bytes = await readFile(path).catch(() => undefined);
  if (bytes === undefined || hash("sha256", bytes, "base64") !== digest) return undefined;
  const result = await timeSlicedLoad(parseRuleFileInSteps(name, bytes.toString("utf8")));
  return result.ok ? result.locationOf(field) : undefined;
}

function isGone(error: unknown): boolean {
  return errorCode(error) === "ENOENT";
}
