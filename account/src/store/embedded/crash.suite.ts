// Kills processes that write to an embedded store, and looks for what they were promised.
import { DatabaseSync } from "node:sqlite";
import { eventually } from "@weir/harness/processes/eventually";
import { startSource } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import { expect } from "vitest";
import { databasePath } from "./data-directory.ts";
import type { Acknowledged } from "./store-load.suite.ts";

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
    const load = startLoad(directory);
    // More each round, so that the kill meets different states of the log.
    const writesMin = WRITES_MIN + 7 * (round % 20);
    try {
      await eventually("writes", () => expect(acknowledgedBy(load).length).toBeGreaterThan(writesMin));
    } finally {
      await load.end();
    }
    for (const [id, what] of acknowledgedBy(load)) acknowledged.set(id, what);
    writes += acknowledgedBy(load).length;
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

/** Starts a process that writes to the store in `directory` until it is killed. */
export function startLoad(directory: string): Program {
  return startSource("account/src/store/embedded/store-load.suite.ts", {}, [directory]);
}

/** The writes that it acknowledged so far. */
export function acknowledgedBy(load: Program): readonly (readonly [id: string, what: Acknowledged])[] {
  const lines = load.output().split("\n").slice(0, -1);
  return lines.map((line) => line.split(" ")).map(([what, id = ""]) => [id, what as Acknowledged]);
}

/**
 * The writes of `acknowledged` that the records in a database do not show, as one line each. A later
 * write may be there although its acknowledgement was not.
 */
export function findLost(
  acknowledged: ReadonlyMap<string, Acknowledged>,
  records: ReadonlyMap<string, { readonly name: unknown; readonly revision: unknown }>,
): readonly string[] {
  return [...acknowledged].flatMap(([id, what]) => {
    const record = records.get(id);
    const isChanged = record?.name === "changed" && record.revision === 1;
    switch (what) {
      case "inserted":
        return record === undefined ? [`${id} was inserted and is missing`] : [];
      case "updated":
        if (record === undefined && id.startsWith("removed")) return []; // Its removal was not acknowledged.
        return isChanged ? [] : [`${id} was updated and is not`];
      case "removed":
        return record === undefined ? [] : [`${id} was removed and is there`];
    }
  });
}
