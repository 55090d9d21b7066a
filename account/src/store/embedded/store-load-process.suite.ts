// The load on an embedded store by another process, and what that process was promised.
import { startSource } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import type { UserRecord } from "../user-store.ts";

/** A user without id and address. */
export const USER_FOR_LOAD: Omit<UserRecord, "id" | "emailKey"> = {
  email: "a@x.com",
  name: null,
  passwordHash: "$2b$04$hash",
  avatar: null,
  avatarKey: null,
  refreshToken: null,
  sessions: [],
  revision: 0,
  createdAtMs: 1_800_000_000_000,
  updatedAtMs: 1_800_000_000_000,
};

/** The last write of a user that was acknowledged. */
export type Acknowledged = "inserted" | "updated" | "removed";

/** A process that writes to a store until it is killed. */
export class StoreLoad {
  readonly #program: Program;
  readonly #acknowledged: Map<string, Acknowledged>;
  #unfinishedLine = "";
  #writes = 0;

  /** Starts it on the store in `directory`; adds what is acknowledged to `acknowledged`. */
  constructor(directory: string, acknowledged: Map<string, Acknowledged>) {
    this.#acknowledged = acknowledged;
    this.#program = startSource("account/src/store/embedded/store-load.suite.ts", {}, [directory]);
    this.#program.child.stdout!.on("data", (text: string) => this.#read(text));
  }

  /** Writes acknowledged so far. */
  get writes(): number {
    return this.#writes;
  }

  /** Kills it. Resolves when all of its lines are read. */
  async kill(): Promise<void> {
    await this.#program.end();
  }

  #read(text: string): void {
    const lines = (this.#unfinishedLine + text).split("\n");
    this.#unfinishedLine = lines.pop() ?? "";
    for (const line of lines) {
      const [what, id = ""] = line.split(" ");
      this.#acknowledged.set(id, what as Acknowledged);
      this.#writes += 1;
    }
  }
}

/**
 * What of `acknowledged` the records in a database do not show, as one line each. A later write may
 * be there although its acknowledgement was not.
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
