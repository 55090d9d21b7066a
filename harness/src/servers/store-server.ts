// What the counter stores of tests have in common: a process with a port or a unix socket.
import { once } from "node:events";
import { connect } from "node:net";
import { join } from "node:path";
import { reservePort } from "../processes/reserve-ports.ts";
import { ServerProcess, type ServerProcessOptions } from "../processes/server-process.ts";

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
  /** Its port, where it has to be known before. */
  readonly port?: number;
  /** Its address; by default {@link HOST}. */
  readonly host?: string;
  /** Path of the program, where it is not on the PATH. */
  readonly programPath?: string;
}

/** A running store. */
export class StoreServer extends ServerProcess {
  readonly host: string;
  readonly port: number;
  /** Such as 127.0.0.1:41234. */
  readonly address: string;
  /** Its unix socket, if it listens on one. */
  readonly socketPath: string;

  private constructor(
    { host, port, socketPath }: { readonly host: string; readonly port: number; readonly socketPath: string },
    options: ServerProcessOptions,
  ) {
    super(options);
    this.host = host;
    this.port = port;
    this.address = `${host}:${port}`;
    this.socketPath = socketPath;
  }

  /**
   * Runs `program` with a log in `folder` and resolves when it accepts connections, at its port
   * unless `listensOn` names its socket.
   */
  static async run(
    folder: string,
    program: string,
    argsFor: (port: number, socketPath: string) => readonly string[],
    {
      flags = [],
      pinned = [],
      isGroupLeader = false,
      programPath = program,
      port: wantedPort,
      host = HOST,
    }: StoreOptions = {},
    listensOn: "port" | "socket" = "port",
  ): Promise<StoreServer> {
    const port = wantedPort ?? (await reservePort());
    const socketPath = join(folder, `${program}-${port}.sock`);
    const [command = programPath, ...args] = [...pinned, programPath, ...argsFor(port, socketPath), ...flags];
    const logPath = join(folder, `${program}-${port}.log`);
    const store = new StoreServer({ host, port, socketPath }, { name: program, command, args, logPath, isGroupLeader });
    await store.startAndWait(async () => {
      const socket = listensOn === "port" ? connect({ host, port }) : connect(socketPath);
      await once(socket, "connect");
      socket.destroy();
    });
    return store;
  }

  /** Ends it. */
  async stop(): Promise<void> {
    await this.kill();
  }
}
