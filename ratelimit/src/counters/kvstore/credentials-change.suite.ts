// What every deployment type does when the file with its credentials changes: it moves all connections to
// the new user, and loses no call.
import { setImmediate as nextTurn } from "node:timers/promises";

import { silentLog } from "@weir/common/log/log";
import { SecretFile } from "@weir/common/secrets/secret-file";
import { Secret } from "@weir/common/settings/secret";
import { MountedSecret } from "@weir/harness/kubernetes/mounted-secret";
import type { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { expect } from "vitest";

import { check, count } from "../counter.suite.ts";
import type { Counter } from "../counter.ts";
import { DEADLINE_MS } from "./kvstore-counter.suite.ts";

/** Calls that must succeed before, while and after the credentials change, each. */
const CALLS = 50;

/** A mounted Secret with the credentials of the user `first`, and the live secret that follows it. */
export class MountedCredentials {
  readonly mounted: MountedSecret;
  readonly secret: Secret;
  readonly #file: SecretFile;

  constructor(auth: string) {
    this.mounted = new MountedSecret({ auth });
    const path = this.mounted.path("auth");
    this.#file = new SecretFile({ path, value: auth }, { log: silentLog() });
    this.#file.start();
    this.secret = new Secret(this.#file, { path });
  }

  close(): void {
    this.#file.stop();
    this.mounted.remove();
  }
}

/** Makes a user that may do everything, on each server. */
export async function addUser(admins: readonly Redis[], name: string, password: string): Promise<void> {
  for (const admin of admins) await admin.call("ACL", "SETUSER", name, "on", `>${password}`, "~*", "&*", "+@all");
}

/** Counts without a pause until it is stopped; every call must succeed. */
export class Traffic {
  readonly #counter: Counter;
  readonly #done: Promise<void>;
  #isStopped = false;
  #succeeded = 0;
  readonly #failures: unknown[] = [];

  constructor(counter: Counter) {
    this.#counter = counter;
    this.#done = this.#run();
  }

  /** Waits until some more calls have ended. */
  async more(): Promise<void> {
    const before = this.#succeeded + this.#failures.length;
    await until(() => this.#succeeded + this.#failures.length >= before + CALLS, DEADLINE_MS, "calls are answered");
  }

  /** Ends it, and checks that no call has failed. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#done;
    expect(this.#failures).toEqual([]);
    expect(this.#succeeded).toBeGreaterThan(CALLS);
  }

  async #run(): Promise<void> {
    for (let call = 0; !this.#isStopped; call++) {
      try {
        await count(this.#counter, check(`traffic-${call % 20}`));
        this.#succeeded += 1;
      } catch (error) {
        this.#failures.push(error);
      }
      await nextTurn();
    }
  }
}

/** The connections of a user to a server, by id. */
export async function connectionsOf(admin: Redis, user: string): Promise<readonly string[]> {
  const lines = String(await admin.call("CLIENT", "LIST")).split("\n");
  return lines.filter((line) => line.includes(` user=${user} `)).map((line) => /^id=(\d+)/.exec(line)?.[1] ?? "");
}

/**
 * Changes the credentials of a started counter from the user `first` to the user `second` under
 * traffic, removes the user `first` from all servers, which closes its connections, and checks that no
 * call has failed. `admins` are connections of another user.
 */
export async function expectNoLoss(
  counter: Counter,
  { admins, credentials }: { readonly admins: readonly Redis[]; readonly credentials: MountedCredentials },
): Promise<void> {
  await addUser(admins, "second", "pass:two");
  const traffic = new Traffic(counter);
  await traffic.more();
  credentials.mounted.replace({ auth: "second:pass:two\n" });
  const haveMoved = async (): Promise<boolean> => {
    const left = await Promise.all(admins.map((admin) => connectionsOf(admin, "first")));
    return left.flat().length === 0;
  };
  await until(haveMoved, DEADLINE_MS, "no connection is left that the user first has opened");
  for (const admin of admins) await admin.call("ACL", "DELUSER", "first");
  await traffic.more();
  await traffic.stop();
}
