// What the counter stores of tests have in common: a process with a port or a unix socket.
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { reservePort } from "../reserve-ports.ts";
import { ServerProcess } from "../server-process.ts";

/** Every server of tests listens on this address. */
export const HOST = "127.0.0.1";

/** What may differ between stores of one kind. */
export interface StoreOptions {
  /** Further flags of its command line. */
  readonly flags?: readonly string[];
  /** Words in front of its command line, for example `taskset -c 1`. */
  readonly pinned?: readonly string[];
  /** See ServerProcessOptions. */
  readonly isGroupLeader?: boolean;
}

/** A running store. */
export class StoreServer {
  readonly port: number;
  /** Such as 127.0.0.1:41234. */
  readonly address: string;
  /** Its unix socket, if it listens on one. */
  readonly socketPath: string;
  readonly #process: ServerProcess;

  private constructor(port: number, socketPath: string, process: ServerProcess) {
    this.port = port;
    this.address = `${HOST}:${port}`;
    this.socketPath = socketPath;
    this.#process = process;
  }

  /**
   * Starts `program` with a log in `folder` and resolves when it accepts connections, at its port
   * unless `listensOn` names its socket.
   */
  static async start(
    folder: string,
    program: string,
    argsFor: (port: number, socketPath: string) => readonly string[],
    { flags = [], pinned = [], isGroupLeader = false }: StoreOptions = {},
    listensOn: "port" | "socket" = "port",
  ): Promise<StoreServer> {
    const port = await reservePort();
    const socketPath = join(folder, `${program}-${port}.sock`);
    const [command = program, ...args] = [...pinned, program, ...argsFor(port, socketPath), ...flags];
    const logPath = join(folder, `${program}-${port}.log`);
    const process = new ServerProcess({ name: program, command, args, logPath, isGroupLeader });
    await process.startAndWait(async () => {
      const socket = listensOn === "port" ? connect({ host: HOST, port }) : connect(socketPath);
      await once(socket, "connect");
      socket.destroy();
    });
    return new StoreServer(port, socketPath, process);
  }

  /** Its process id, and its process group when it leads one. Throws when it has ended. */
  get pid(): number {
    if (this.#process.pid === undefined) throw new Error(`The store at ${this.address} has ended`);
    return this.#process.pid;
  }

  /** Stops it from reading and answering until {@link resume}. */
  async pause(): Promise<void> {
    await this.#process.pause();
  }

  /** Continues after {@link pause}. */
  resume(): void {
    this.#process.resume();
  }

  /** Ends it. */
  async stop(): Promise<void> {
    await this.#process.kill();
  }
}
