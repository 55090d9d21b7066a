import { describe, expect, it } from "vitest";
import { StoreError } from "../store/store-error.ts";
import type { UpdateResult, UserChange, UserRecord } from "../store/user-store.ts";
import { updateUser } from "./update-user.ts";

const CHANGE: UserChange = { name: "Ada", updatedAtMs: 1 };

/** A store of one user whose updates have the given results, each later one the last of them. */
function storeWith(results: readonly UpdateResult[]) {
  const attempts: number[] = [];
  return {
    attempts,
    store: {
      findById: (id: string) =>
        Promise.resolve(id === "ada" ? ({ id, revision: attempts.length } as UserRecord) : undefined),
      update: (_id: string, revision: number) => {
        attempts.push(revision);
        return Promise.resolve(results[attempts.length - 1] ?? results.at(-1) ?? "updated");
      },
    },
  };
}

describe("updateUser()", () => {
  it.each<{ results: readonly UpdateResult[]; attempts: readonly number[] }>([
    { results: ["updated"], attempts: [0] },
    { results: ["conflict", "conflict", "updated"], attempts: [0, 1, 2] },
  ])("reads and decides again after each conflict of $results", async ({ results, attempts }) => {
    const fixture = storeWith(results);
    expect(await updateUser(fixture.store, "ada", () => CHANGE)).toMatchObject({ revision: attempts.at(-1) });
    expect(fixture.attempts).toEqual(attempts);
  });

  it("writes nothing without such a user, or when the change is none", async () => {
    const { store, attempts } = storeWith(["updated"]);
    expect(await updateUser(store, "unknown", () => CHANGE)).toBeUndefined();
    expect(await updateUser(store, "ada", () => undefined)).toMatchObject({ id: "ada" });
    expect(attempts).toEqual([]);
  });

  it("rejects with busy after 32 lost attempts", async () => {
    const { store, attempts } = storeWith(["conflict"]);
    await expect(updateUser(store, "ada", () => CHANGE)).rejects.toMatchObject({ code: "busy" });
    expect(attempts).toHaveLength(32);
  });

  it("rejects with email_taken on the field, without another attempt", async () => {
    const { store, attempts } = storeWith(["email_taken"]);
    await expect(updateUser(store, "ada", () => CHANGE)).rejects.toMatchObject({
      code: "email_taken",
      details: { fields: [{ field: "email" }] },
    });
    expect(attempts).toEqual([0]);
  });

  it("never repeats a write that may have been done", async () => {
    const { store, attempts } = storeWith([]);
    const update = (_id: string, revision: number): Promise<UpdateResult> => {
      attempts.push(revision);
      return Promise.reject(new StoreError("unknown", new Error("no answer")));
    };
    await expect(updateUser({ ...store, update }, "ada", () => CHANGE)).rejects.toMatchObject({
      code: "database_unavailable",
    });
    expect(attempts).toEqual([0]);
  });
});
