// The behaviour of every deployment type when the file with its credentials changes: it moves all
// connections to the new user, and loses no call.
import { silentLog } from "@weir/common/log/log";
import { SecretFile } from "@weir/common/secrets/secret-file";
import { Secret } from "@weir/common/settings/secret";
import { MountedSecret } from "@weir/harness/kubernetes/mounted-secret";
import { type Decision, Traffic } from "@weir/harness/weir/traffic";
import type { Redis } from "ioredis";
import { until } from "@weir/harness/processes/eventually";
import { expect } from "vitest";

import { check, count } from "../counter.suite.ts";
import type { Counter } from "../counter.ts";
import { DEADLINE_MS } from "./redis-counter.suite.ts";

/** Calls that must succeed before, while and after the credentials change, each. */
export const CALLS = 50;

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

/** Counts one check after the other until it is stopped; every call must succeed. */
export function startCounting(counter: Counter): Traffic {
  let calls = 0;
  const ask = async (): Promise<Decision> => {
    await count(counter, check(`traffic-${calls++ % 20}`));
    return { code: "allowed" };
  };
  return new Traffic([{ ask }], { periodMs: 0, waitingMax: 1 });
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
  const traffic = startCounting(counter);
  await traffic.answers(CALLS);
  credentials.mounted.replace({ auth: "second:pass:two\n" });
  const haveMoved = async (): Promise<boolean> => {
    const left = await Promise.all(admins.map((admin) => connectionsOf(admin, "first")));
    return left.flat().length === 0;
  };
  await until(haveMoved, DEADLINE_MS, "no connection is left that the user first has opened");
  for (const admin of admins) await admin.call("ACL", "DELUSER", "first");
  await traffic.answers(CALLS);
  expect(await traffic.stop()).toEqual({});
}
