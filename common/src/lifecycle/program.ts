// Runs a program: --help, --version, signals, and its end.
import { describeError, ServiceError } from "../errors/service-error.ts";
import type { Log } from "../log/log.ts";
import { type Env, type SettingRow, SettingsError } from "../settings/read-env.ts";
import { formatHelp, type ProgramFlag } from "./help.ts";
import { nodeHost, type ProgramHost } from "./host.ts";

/**
 * A signal that is repeated this long after the first, in milliseconds, ends the process
 * immediately; an earlier one is an echo: a terminal and a parent process both send Ctrl-C.
 */
const FORCE_AFTER_MS = 1000;

const EXIT_FAILURE = 1;
const EXIT_USAGE = 2;

/** Shells report a process that a signal has ended as 128 plus the number of the signal. */
const EXIT_BY_SIGNAL = { SIGINT: 130, SIGTERM: 143 } as const;

/** The signals that ask a program to stop. */
export type StopSignal = keyof typeof EXIT_BY_SIGNAL;

/** The description of a program for its help. */
export interface Program {
  /** The name it is called by. */
  readonly name: string;
  /** One sentence on what it does. */
  readonly summary: string;
  /**
   * The arguments after the name on the command line. Without it the program takes no arguments.
   */
  readonly usage?: string;
  /** Its command line flags, for the help only: main reads `args` itself. */
  readonly flags?: readonly ProgramFlag[];
  /** Its settings, for the help. */
  readonly settings?: () => readonly SettingRow[];
}

/** The process, as `main` sees it. */
export interface ProgramContext {
  /** The arguments after the name of the program. */
  readonly args: readonly string[];
  readonly env: Env;
  /**
   * Aborted by SIGINT and SIGTERM. A program that never reads this property is ended by those
   * signals immediately.
   */
  readonly signal: AbortSignal;
  /** The signal that asked to stop, once one has. */
  signalName(): StopSignal | undefined;
  /** Calls the listener at every SIGHUP; without any listener that signal ends the process. */
  onHangup(listener: () => void): void;
  /** Writes to standard output: the result of the program. */
  stdout(text: string): void;
  /** Writes to standard error: everything else. */
  stderr(text: string): void;
  /**
   * Sets the log for an unexpected error; without it the error goes to standard error as plain
   * text.
   */
  useLog(log: Log): void;
}

/**
 * Runs a program to its end: answers `--help` and `--version` as first argument, else calls `main`
 * and exits with the number it returns (0 for none). A ServiceError ends it with exit code 1 and
 * its message on standard error, anything else that is thrown or rejected with its stack.
 */
export function runProgram(
  program: Program,
  main: (context: ProgramContext) => Promise<number | void>,
  host: ProgramHost = nodeHost(),
): void {
  const answer = answerEarly(program, host);
  if (answer !== undefined) {
    host.exit(answer);
    return;
  }
  const state: ProgramState = { log: undefined, received: undefined };
  const context = createContext(host, state);
  const report = (error: unknown): void => reportEnd(program.name, error, host, state.log);
  host.onUncaught((error) => {
    report(error);
    // The state of the program is unknown, so it ends without waiting for its output.
    host.exitNow(EXIT_FAILURE);
  });
  // Async, so that a main that throws before its first await fails the same way.
  void (async () => main(context))().then(
    (code) => host.exit(code ?? 0),
    (error: unknown) => {
      report(error);
      host.exit(EXIT_FAILURE);
    },
  );
}

function answerEarly(program: Program, host: ProgramHost): number | undefined {
  const [first] = host.args;
  switch (first) {
    case undefined:
      return undefined;
    case "--help":
    case "-help":
    case "-h":
      host.stdout(
        formatHelp({ ...program, version: host.version(), settings: program.settings?.() ?? [] }, host.columns()),
      );
      return 0;
    case "--version":
    case "-version":
      host.stdout(`${program.name} ${host.version()}\n`);
      return 0;
    default:
      if (program.usage !== undefined) return undefined;
      host.stderr(
        `${program.name}: Cannot use the argument ${JSON.stringify(first)}: this program takes none, only --help and --version; its settings are environment variables\n`,
      );
      return EXIT_USAGE;
  }
}

function reportEnd(name: string, error: unknown, host: ProgramHost, log: Log | undefined): void {
  if (error instanceof SettingsError) host.stderr(`${name}: ${error.message}\n`);
  else if (error instanceof ServiceError) host.stderr(`${name}: ${describeError(error)}\n`);
  else if (log !== undefined)
    log.error("Unexpected error, the process ends", { error: describeError(error), stack: stackOf(error) });
  else host.stderr(`${name}: unexpected error, the process ends: ${stackOf(error)}\n`);
}

function stackOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? describeError(error)) : describeError(error);
}

/** State that a signal or the program changes while main runs. */
interface ProgramState {
  log: Log | undefined;
  received: { readonly name: StopSignal; readonly atMs: number } | undefined;
}

/** The context of one run. Its functions do not use `this`, so main may destructure it. */
function createContext(host: ProgramHost, state: ProgramState): ProgramContext {
  const hangupListeners: (() => void)[] = [];
  let abort: AbortController | undefined;
  return {
    args: host.args,
    env: host.env,
    get signal(): AbortSignal {
      abort ??= listenToStopSignals(host, state);
      return abort.signal;
    },
    signalName: () => state.received?.name,
    onHangup(listener) {
      hangupListeners.push(listener);
      if (hangupListeners.length > 1) return;
      host.onSignal("SIGHUP", () => {
        for (const hangupListener of hangupListeners) hangupListener();
      });
    },
    stdout: (text) => host.stdout(text),
    stderr: (text) => host.stderr(text),
    useLog(log) {
      state.log = log;
    },
  };
}

function listenToStopSignals(host: ProgramHost, state: ProgramState): AbortController {
  const abort = new AbortController();
  const stop = (name: StopSignal): void => {
    const atMs = host.nowMs();
    if (state.received === undefined) {
      state.received = { name, atMs };
      abort.abort();
    } else if (atMs - state.received.atMs >= FORCE_AFTER_MS) {
      host.exitNow(EXIT_BY_SIGNAL[name]);
    }
  };
  host.onSignal("SIGINT", () => stop("SIGINT"));
  host.onSignal("SIGTERM", () => stop("SIGTERM"));
  return abort;
}
