// Kills processes that write to an embedded store, and looks for what they were promised.
import { DatabaseSync } from "node:sqlite";
import { eventually } from "@weir/harness/processes/eventually";
import { expect } from "vitest";
import { databasePath } from "./data-directory.ts";
import { type Acknowledged, findLost, StoreLoad } from "./store-load-process.suite.ts";

/** Writes after which a process may be killed: enough that all writers write. */
const WRITES_MIN = 40;

/**
 * Starts a process on the store in `directory`, kills it under load, and starts the next, `times`
 * times. Asserts after each that no acknowledged write is lost, and returns the number of those
 * writes.
 */
export async function killUnderLoad(directory: string, times: number): Promise<number> {
  const acknowledged = new Map<string, Acknowledged>();
  let writes = 0;
  for (let round = 0; round < times; round++) {
    const load = new StoreLoad(directory, acknowledged);
    try {
      // More each round, so that the kill meets different states of the log.
      await eventually("writes", () => expect(load.writes).toBeGreaterThan(WRITES_MIN + 7 * (round % 20)));
    } finally {
      await load.kill();
    }
    writes += load.writes;
    expect(findLost(acknowledged, readRecords(directory))).toEqual([]);
  }
  return writes;
}

/** The records as another process finds them. */
export function readRecords(
  directory: string,
  path = databasePath(directory),
): ReadonlyMap<string, { readonly name: unknown; readonly revision: unknown }> {
  const database = new DatabaseSync(path);
  try {
    const rows = database.prepare("SELECT id, name, revision FROM users").all();
    return new Map(rows.map(({ id, name, revision }) => [String(id), { name, revision }]));
  } finally {
    database.close();
  }
}
