// The store whose attempts to connect fail in ways that a later attempt may not. No server is reached.
import dns from "node:dns";
import { createLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MongoUserStore } from "./mongo-user-store.ts";
import { UserCollection } from "./user-collection.ts";

let store: MongoUserStore | undefined;

afterEach(async () => {
  await store?.stop();
  vi.restoreAllMocks();
});

/** Starts a store; the lines of its log. */
async function start(uri: string): Promise<readonly string[]> {
  const lines: string[] = [];
  const log = createLog({ level: "info", format: "json", write: (line) => lines.push(line) });
  store = new MongoUserStore({ log }, { uri: new Secret(uri) });
  await store.start();
  return lines;
}

describe("MongoUserStore.start()", () => {
  it.each([
    { name: "has no address at any attempt", first: undefined },
    { name: "loses its address after the first attempt", first: new Error("no DNS server") },
  ])("tries again, and logs why, when the SRV record $name", async ({ first }) => {
    let attempts = 0;
    vi.spyOn(dns.promises, "resolve").mockImplementation((_name: string, type?: string) => {
      if (type !== "SRV") return Promise.resolve([]);
      attempts += 1;
      return attempts === 1 && first !== undefined ? Promise.reject(first) : Promise.resolve([]);
    });
    const lines = await start("mongodb+srv://ada:s3cret@users.example.test/weir");
    await eventually("a third attempt", () => expect(attempts).toBeGreaterThanOrEqual(3));
    if (first !== undefined) expect(lines.join("")).toContain(first.message);
    expect(lines.join("")).toContain("No addresses found at host");
    expect(lines.join("")).not.toContain("s3cret");
  });

  it.each(["mongodb://ada:s3cret@/weir", "mongodb://ada:s3cret@host:no/weir"])(
    "rejects for the URI %s",
    async (uri) => {
      await expect(start(uri)).rejects.toMatchObject({
        code: "STORE_UNUSABLE",
        cause: { message: expect.not.stringContaining("s3cret") as unknown },
      });
    },
  );

  it("resolves when the connection without an index cannot be closed", async () => {
    const failing = {
      createIndex: () => Promise.reject(new Error("no index")),
      close: () => Promise.reject(new Error("not closed")),
    };
    const connect = vi.spyOn(UserCollection, "connect").mockResolvedValue(failing as unknown as UserCollection);
    const lines = await start("mongodb://127.0.0.1:1/weir");
    await eventually("a second attempt", () => expect(connect.mock.calls.length).toBeGreaterThanOrEqual(2));
    expect(lines.join("")).toContain("no index");
  });
});
