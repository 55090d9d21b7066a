// One worker as the service sees it: a process, its channel, and the connections that it has.
import { fork } from "node:child_process";
import type { Socket } from "node:net";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";

import type { RuleKeyCounts } from "../observe/rule-keys.ts";
import type { FromWorker, ToWorker } from "./messages.ts";

/** Most connections that wait to be handed over: the worker confirms each. More are closed. */
const HANDOVERS_MAX = 1024;

/** The program of workers, next to this file: as it was built, or its source. */
const PROGRAM = fileURLToPath(new URL(`worker-main${extname(import.meta.url)}`, import.meta.url));

/** Receives what happens to a worker. */
export interface WorkerListener {
  /** It has sent a message. */
  received(worker: WorkerProcess, message: FromWorker): void;
  /** Its process has ended. Called once. */
  ended(worker: WorkerProcess, reason: string): void;
}

/** The process of a worker, as far as it is used: one of node:child_process, or a fake. */
export interface WorkerChild {
  readonly pid?: number | undefined;
  readonly connected: boolean;
  /** Sends a message, with a socket if there is one; `sent` is called then. */
  send(message: ToWorker, socket: Socket | undefined, options: object, sent: (error: Error | null) => void): boolean;
  /** Ends it immediately. */
  kill(signal: "SIGKILL"): boolean;
  /** Calls the listener for each message of the worker. */
  on(event: "message", listener: (message: unknown) => void): unknown;
  /** Calls the listener when it cannot be started, or sent a message. */
  on(event: "error", listener: (error: Error) => void): unknown;
  /** Calls the listener when it has ended. */
  on(event: "exit", listener: (code: number | null, signal: string | null) => void): unknown;
}

/** Starts the program of workers. */
function startChild(): WorkerChild {
  return fork(PROGRAM, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
}

/** A worker. */
export class WorkerProcess {
  /** Its number, from 0; the one that replaces it has the same. */
  readonly index: number;
  readonly #process: WorkerChild;
  readonly #ended = Promise.withResolvers<void>();
  /** True if it can have connections. */
  isReady = false;
  isDrained = false;
  /** The numbers of the configurations that it was sent last. */
  sent: ReadonlySet<number> = new Set();
  /** The last set of rules that it has loaded. */
  loadedId = 0;
  /** The last request for statistics that it has answered. */
  refreshedId = 0;
  /** The keys of rules that it has answered last. */
  keys: readonly RuleKeyCounts[] = [];
  hasEnded = false;
  #given = 0;
  #handovers = 0;
  #closed = 0;
  #shed = 0;

  /** Starts the process. */
  constructor(index: number, listener: WorkerListener, child: WorkerChild = startChild()) {
    this.index = index;
    this.#process = child;
    this.#process.on("message", (message) => listener.received(this, message as FromWorker));
    const end = (reason: string): void => {
      if (this.hasEnded) return;
      this.hasEnded = true;
      this.isReady = false;
      this.#ended.resolve();
      listener.ended(this, reason);
    };
    this.#process.on("error", (error) => {
      // A message that cannot be sent any more is no failure of its own: the process is ending.
      if (this.#process.pid === undefined) end(error.message);
    });
    this.#process.on("exit", (code, signal) => end(signal === null ? `exit code ${code}` : `signal ${signal}`));
  }

  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Resolves when the process has ended. */
  get ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Open connections, without those that have received GOAWAY. */
  get connections(): number {
    return this.#given - this.#closed - this.#shed;
  }

  /** Open connections, all of them. */
  get openConnections(): number {
    return this.#given - this.#closed;
  }

  /** Sends a message, unless the process is ending. */
  send(message: ToWorker): void {
    if (this.#process.connected) this.#process.send(message, undefined, {}, () => undefined); // See "error".
  }

  /** Hands a connection over, or closes it when the worker does not take connections fast enough. */
  give(socket: Socket): void {
    if (this.#handovers >= HANDOVERS_MAX || !this.#process.connected) {
      socket.destroy();
      return;
    }
    this.#given += 1;
    this.#handovers += 1;
    this.#process.send({ kind: "connection" } satisfies ToWorker, socket, {}, (error) => {
      this.#handovers -= 1;
      if (error === null) return;
      this.#given -= 1;
      socket.destroy();
    });
  }

  /** Notes the connections that the worker reports. */
  noteConnections({ closed, shed }: Extract<FromWorker, { kind: "connections" }>): void {
    this.#closed = closed;
    this.#shed = shed;
  }

  /** Ends the process immediately. */
  kill(): void {
    this.#process.kill("SIGKILL");
  }
}
