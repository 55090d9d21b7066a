// A program for tests: opens the embedded store of a folder and writes to it as fast as it can, until
// it is killed. It prints a line for each write that was acknowledged.
import { randomUUID } from "node:crypto";
import { silentLog } from "@weir/common/log/log";
import { EmbeddedUserStore } from "./embedded-user-store.ts";
import type { UserRecord } from "../user-store.ts";

/** A user without id and address. */
const USER: Omit<UserRecord, "id" | "emailKey"> = {
  email: "a@x.com",
  name: null,
  passwordHash: "$2b$04$hash",
  avatar: null,
  avatarKey: null,
  refreshToken: null,
  sessions: [],
  emailVerifiedAtMs: null,
  mailTokens: [],
  lockedAtMs: null,
  revision: 0,
  createdAtMs: 1_800_000_000_000,
  updatedAtMs: 1_800_000_000_000,
};

/** A write that was acknowledged. */
export type Acknowledged = "inserted" | "updated" | "removed";

/** Writers at a time. */
const WRITERS = 16;

/** Inserts a user, changes it, and removes every fourth. */
async function write(store: EmbeddedUserStore): Promise<void> {
  for (let count = 0; ; count++) {
    const isRemoved = count % 4 === 3;
    const id = `${isRemoved ? "removed" : "kept"}-${randomUUID()}`;
    await store.insert({ ...USER, id, emailKey: `${id}@x.com` });
    await acknowledge("inserted", id);
    await store.update(id, 0, { name: "changed", updatedAtMs: 1 });
    await acknowledge("updated", id);
    if (!isRemoved) continue;
    await store.remove(id);
    await acknowledge("removed", id);
  }
}

/** Resolves when the test can read the line. */
function acknowledge(what: Acknowledged, id: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${what} ${id}\n`, () => resolve()));
}

const store = new EmbeddedUserStore({ log: silentLog() }, { directory: String(process.argv[2]) });
await store.start();
await Promise.all(Array.from({ length: WRITERS }, () => write(store)));
