// The commands of cells to one server: what it knows of the script, and how far its clock is from ours. All pods
// count by the clock of the store: with one that is 90 s ahead, limits per second would reject nothing.
import type { Log } from "@weir/common/log/log";
import type { CountedCell } from "../../counter.ts";
import type { CommandBuffer } from "../connection/command-buffer.ts";
import type { Reply } from "../connection/reply.ts";
import { cellAnswerOf, cellCommand } from "./cell-script.ts";
import type { KeyChecks } from "./key-checks.ts";

/** How long the difference of the clocks is used, in milliseconds. */
const CLOCK_INTERVAL_MS = 10_000;

/** The error of a server that does not have the script; nothing was counted then. */
const NO_SCRIPT = /^NOSCRIPT\b/;

/** The dependencies of the commands. */
export interface CellCommandsDeps {
  readonly log: Log;
  /** Milliseconds by a clock that only goes forward. */
  readonly monotonicMs: () => number;
  /** True if calls are counted by their own time, as tests in virtual time want it. */
  readonly usesOwnClock: boolean;
  /** The server for messages. */
  readonly text: () => string;
}

/** The commands of one server. */
export class CellCommands {
  readonly #deps: CellCommandsDeps;
  #knowsScript = false;
  /** Milliseconds to add to our time for that of the store; undefined before they are known. */
  #offsetMs: number | undefined;
  /** When the difference was asked for last. */
  #askedMs = -Infinity;
  #hasWarned = false;
  /** The command whose answer tells the difference, and our time when it was written. */
  #asked: { readonly checks: KeyChecks; readonly ownMs: number } | undefined;

  constructor(deps: CellCommandsDeps) {
    this.#deps = deps;
    if (deps.usesOwnClock) this.#offsetMs = 0;
  }

  /** Writes the command for the checks of a key, which wait since `createdMs`. */
  write(buffer: CommandBuffer, checks: KeyChecks, { rule, nowMs: ownMs }: CountedCell, createdMs: number): void {
    const monotonicMs = this.#deps.monotonicMs();
    const takesTime = this.#takesTime(monotonicMs);
    if (takesTime && this.#isDue(monotonicMs)) {
      this.#asked = { checks, ownMs: ownMs + Math.max(0, monotonicMs - createdMs) };
      this.#askedMs = monotonicMs;
    }
    const { key, keyBytes, addend: hits, calls } = checks;
    const sendsText = !this.#knowsScript;
    this.#knowsScript = true;
    const nowMs = this.#storeMs(ownMs);
    buffer.written(cellCommand({ key, keyBytes, rule, nowMs, takesTime, hits, calls, sendsText }));
  }

  /** Gives the checks what the server answered; false when that is no answer of the script. */
  receive(checks: KeyChecks, { rule, nowMs: ownMs }: CountedCell, reply: Reply): boolean {
    const answer = typeof reply === "string" ? cellAnswerOf(reply, rule) : undefined;
    if (answer === undefined) return false;
    const { passing, serverMs, state } = answer;
    if (this.#asked?.checks === checks) this.#learn(this.#asked.ownMs, serverMs);
    checks.distributeCell(passing, state, serverMs === 0 ? this.#storeMs(ownMs) : serverMs);
    return true;
  }

  /** Returns true if an error says that the server lacks the script; then the next command brings it. */
  isUnknownScript(error: Error): boolean {
    if (!NO_SCRIPT.test(error.message)) return false;
    this.#knowsScript = false;
    return true;
  }

  /** Forgets what is known of the server: it may be another one now. */
  forget(): void {
    this.#knowsScript = false;
    this.#askedMs = -Infinity;
    if (!this.#deps.usesOwnClock) this.#offsetMs = undefined;
  }

  /** Our time by the clock of the store. */
  #storeMs(ownMs: number): number {
    return Math.round(ownMs + (this.#offsetMs ?? 0));
  }

  /** Before the difference is known, every command takes the time of the server. */
  #takesTime(monotonicMs: number): boolean {
    return !this.#deps.usesOwnClock && (this.#offsetMs === undefined || this.#isDue(monotonicMs));
  }

  /** Returns true when the difference must be asked for again; an answer that never comes is not awaited any longer. */
  #isDue(monotonicMs: number): boolean {
    return monotonicMs - this.#askedMs >= CLOCK_INTERVAL_MS;
  }

  #learn(ownMs: number, serverMs: number): void {
    this.#asked = undefined;
    this.#offsetMs = serverMs === 0 ? 0 : serverMs - ownMs;
    if (serverMs !== 0 || this.#hasWarned) return;
    this.#hasWarned = true;
    const message = "Cannot read the time of the store, so limits are counted by the clock of this pod";
    this.#deps.log.warn(message, { store: this.#deps.text(), remedy: "allow the command TIME" });
  }
}
