// The store whose attempts to connect fail in ways that a later attempt may not. No server is reached.
import dns from "node:dns";
import { inspect } from "node:util";
import { createLog } from "@weir/common/log/log";
import { Secret } from "@weir/common/settings/secret";
import { eventually } from "@weir/harness/processes/eventually";
import { afterEach, describe, expect, it, vi } from "vitest";
import { MongoUserStore } from "./mongo-user-store.ts";

let store: MongoUserStore | undefined;

afterEach(async () => {
  await store?.stop();
  vi.restoreAllMocks();
});

function dnsError(): Error {
  return Object.assign(new Error("querySrv ESERVFAIL users.example.test"), { code: "ESERVFAIL" });
}

function reasonsOf(lines: readonly string[]): readonly unknown[] {
  return lines.map((line) => (JSON.parse(line) as Record<string, unknown>)["reason"]);
}

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
    { name: "has no address after a first attempt without DNS", first: dnsError() },
  ])("tries again, and logs each reason once, when the SRV record $name", async ({ first }) => {
    let attempts = 0;
    vi.spyOn(dns.promises, "resolve").mockImplementation((_name: string, type?: string) => {
      if (type !== "SRV") return Promise.resolve([]);
      attempts += 1;
      return attempts === 1 && first !== undefined ? Promise.reject(first) : Promise.resolve([]);
    });
    const lines = await start("mongodb+srv://ada:s3cret@users.example.test/weir");
    await eventually("a fourth attempt", () => expect(attempts).toBeGreaterThanOrEqual(4));
    expect(reasonsOf(lines)).toEqual([
      ...(first === undefined ? [] : ["no server answers (ESERVFAIL)"]),
      "no server answers",
    ]);
    await expect(store?.ping()).rejects.toMatchObject({
      reason: "not_connected",
      cause: { message: "it is not connected: no server answers" },
    });
  });

  // Each has a part of a password where the driver would quote it.
  it.each([
    "mongodb://ada:s3cret@/weir",
    "mongodb://ada:s3cret@host:no/weir",
    "mongodb://ada:pa/s3cret@host/weir",
    "mongodb://ada:pass?s3cret=x@host/weir",
    "mongodb://ada:pass%s3cret@host/weir",
    "mongodb://host/weir?s3cret=1",
  ])("rejects for the URI %s, and quotes nothing of it", async (uri) => {
    const error: unknown = await start(uri).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "STORE_UNUSABLE" });
    expect(inspect(error)).not.toContain("s3cret");
  });
});
