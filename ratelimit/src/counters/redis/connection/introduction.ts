// The first commands on a connection, AUTH, SELECT, PING and ROLE in one piece, and their replies.
import type { RedisAddress } from "../address.ts";
import type { CommandBuffer } from "./command-buffer.ts";
import type { Reply, ReplyReceiver } from "./reply.ts";

/** The introduction of one connection. */
export class Introduction implements ReplyReceiver {
  readonly #commands: readonly (readonly [name: string, ...args: string[]])[];
  readonly #wantsPrimary: boolean;
  readonly #done: (failure: Error | undefined) => void;
  readonly #received: Reply[] = [];

  /**
   * `done` is called unless the connection ends before; with a failure, the connection is of no
   * use. `wantsPrimary` refuses a server that reports the role of a replica.
   */
  constructor(
    { auth, database }: Pick<RedisAddress, "auth" | "database">,
    { wantsPrimary }: { readonly wantsPrimary: boolean },
    done: (failure: Error | undefined) => void,
  ) {
    this.#commands = [
      ...(auth === undefined ? [] : [["AUTH", ...auth().map((secret) => secret.reveal())] as const]),
      ...(database > 0 ? [["SELECT", `${database}`] as const] : []),
      ["PING"],
      ...(wantsPrimary ? [["ROLE"] as const] : []),
    ];
    this.#wantsPrimary = wantsPrimary;
    this.#done = done;
  }

  get replies(): number {
    return this.#commands.length;
  }

  /** Adds its commands. */
  write(commands: CommandBuffer): void {
    for (const [name, ...args] of this.#commands) commands.command(name, ...args);
  }

  receive(reply: Reply): void {
    this.#received.push(reply);
  }

  completed(): void {
    const replies = [...this.#received];
    const role = this.#wantsPrimary ? roleIn(replies.pop()) : undefined;
    const failure = replies.find((reply) => reply instanceof Error);
    const pong = replies.at(-1);
    if (failure !== undefined) this.#done(failure);
    else if (pong !== "PONG") this.#done(new Error(`the server answered PING with ${String(pong)}`));
    else if (role !== undefined && role !== "master")
      this.#done(new Error(`the server is not a primary, its role is ${role}`));
    else this.#done(undefined);
  }

  lost(): void {
    // The connection reports its end.
  }
}

/** The role that a server reports; undefined when the user may not ask for it. */
function roleIn(reply: Reply | undefined): string | undefined {
  return Array.isArray(reply) ? String((reply as readonly Reply[])[0]) : undefined;
}
