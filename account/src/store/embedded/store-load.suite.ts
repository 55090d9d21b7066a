// A program for tests: opens the embedded store of a folder and writes to it as fast as it can, until
// it is killed. It prints a line for each write that was acknowledged.
import { randomUUID } from "node:crypto";
import { writeSync } from "node:fs";
import { silentLog } from "@weir/common/log/log";
import { EmbeddedUserStore } from "./embedded-user-store.ts";
import { USER_FOR_LOAD } from "./store-load-process.suite.ts";

/** Writers at a time. */
const WRITERS = 16;

/** The pipe to the test; a line is written before the next write begins. */
const STDOUT = 1;

/** Inserts a user, changes it, and removes every fourth. */
async function write(store: EmbeddedUserStore): Promise<void> {
  for (let count = 0; ; count++) {
    const isRemoved = count % 4 === 3;
    const id = `${isRemoved ? "removed" : "kept"}-${randomUUID()}`;
    await store.insert({ ...USER_FOR_LOAD, id, emailKey: `${id}@x.com` });
    acknowledge("inserted", id);
    await store.update(id, 0, { name: "changed", updatedAtMs: 1 });
    acknowledge("updated", id);
    if (!isRemoved) continue;
    await store.remove(id);
    acknowledge("removed", id);
  }
}

function acknowledge(what: "inserted" | "updated" | "removed", id: string): void {
  writeSync(STDOUT, `${what} ${id}\n`);
}

const store = new EmbeddedUserStore({ log: silentLog() }, { directory: String(process.argv[2]) });
await store.start();
await Promise.all(Array.from({ length: WRITERS }, () => write(store)));
