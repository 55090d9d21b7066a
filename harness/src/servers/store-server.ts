// The common part of the counter stores of tests: a process with a port or a unix socket.
import { once } from "node:events";
import { connect, type NetConnectOpts } from "node:net";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { reservePort } from "../processes/reserve-ports.ts";
import { ServerProcess, type ServerProcessOptions } from "../processes/server-process.ts";
import { makeTemporaryFolder } from "../processes/temporary-folder.ts";

/** Every server of tests listens on this address. */
export const HOST = "127.0.0.1";

/** Options that may differ between stores of one kind. */
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

/** Address and folder of a store. */
interface StorePlace {
  readonly host: string;
  readonly port: number;
  readonly socketPath: string;
  /** Kind of the listener that accepts connections when it is ready. */
  readonly listensOn: "port" | "socket";
  readonly folder: string;
  /** True if the folder was made for it. */
  readonly ownsFolder: boolean;
}

/** A running store. */
export class StoreServer extends ServerProcess {
  readonly host: string;
  readonly port: number;
  /** Such as 127.0.0.1:41234. */
  readonly address: string;
  /** Its unix socket, if it listens on one. */
  readonly socketPath: string;
  /** Of its files. */
  readonly folder: string;
  /** Address that clients connect to. */
  readonly target: NetConnectOpts;
  readonly #ownsFolder: boolean;

  constructor({ host, port, socketPath, listensOn, folder, ownsFolder }: StorePlace, options: ServerProcessOptions) {
    super(options);
    this.host = host;
    this.port = port;
    this.address = `${host}:${port}`;
    this.socketPath = socketPath;
    this.target = listensOn === "port" ? { host, port } : { path: socketPath };
    this.folder = folder;
    this.#ownsFolder = ownsFolder;
  }

  /**
   * Runs `program` with a log in `folder`, by default one of its own, and resolves when it accepts connections, at its
   * port unless `listensOn` names its socket.
   */
  static async run<Store extends StoreServer>(
    this: new (place: StorePlace, options: ServerProcessOptions) => Store,
    given: string | undefined,
    program: string,
    argsFor: (place: {
      readonly port: number;
      readonly socketPath: string;
      readonly folder: string;
    }) => readonly string[],
    {
      flags = [],
      pinned = [],
      isGroupLeader = false,
      programPath = program,
      port: wantedPort,
      host = HOST,
    }: StoreOptions = {},
    listensOn: "port" | "socket" = "port",
  ): Promise<Store> {
    const folder = given ?? makeTemporaryFolder().path;
    const port = wantedPort ?? (await reservePort());
    const socketPath = join(folder, `${program}-${port}.sock`);
    const all = [...pinned, programPath, ...argsFor({ port, socketPath, folder }), ...flags];
    const [command = programPath, ...args] = all;
    const logPath = join(folder, `${program}-${port}.log`);
    const place = { host, port, socketPath, listensOn, folder, ownsFolder: given === undefined };
    const store = new this(place, { name: program, command, args, logPath, isGroupLeader });
    await store.restart();
    return store;
  }

  /** Starts it (again), empty, and waits until it accepts connections. */
  async restart(): Promise<void> {
    await this.startAndWait(async () => {
      const socket = connect(this.target);
      await once(socket, "connect");
      socket.destroy();
    });
  }

  /** Ends it, and removes its own folder. */
  async stop(): Promise<void> {
    await this.kill();
    if (this.#ownsFolder) rmSync(this.folder, { recursive: true, force: true });
  }
}
