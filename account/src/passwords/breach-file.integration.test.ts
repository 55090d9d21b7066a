// Lookups in files of the form that Have I Been Pwned publishes.
import { createHash } from "node:crypto";
import { renameSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLog } from "@weir/common/log/log";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type BreachedPasswords, openBreachFile } from "./breach-file.ts";

let folder: ReturnType<typeof makeTemporaryFolder>;
let path: string;
let logLines: string[];

beforeEach(() => {
  folder = makeTemporaryFolder();
  path = join(folder.path, "pwned.txt");
  logLines = [];
});

afterEach(() => {
  folder.remove();
});

function sha1(password: string): string {
  return createHash("sha1").update(password).digest("hex").toUpperCase();
}

/** Lines as in the published file: counts of different lengths, CR LF, none after the last. */
function lines(passwords: readonly string[]): readonly string[] {
  return passwords.map((password, index) => `${sha1(password)}:${10 ** (index % 9)}`).sort();
}

function numbered(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `leaked-${index}`);
}

/** Those of the passwords that are found, looked up a few at a time. */
async function lookUp(breached: BreachedPasswords, passwords: readonly string[]): Promise<readonly string[]> {
  const found: string[] = [];
  for (let start = 0; start < passwords.length; start += 50) {
    const some = passwords.slice(start, start + 50);
    const answers = await Promise.all(some.map((password) => breached.has(password)));
    found.push(...some.filter((_, index) => answers[index]));
  }
  return found;
}

function open(): BreachedPasswords {
  const log = createLog({ level: "debug", format: "json", write: (line) => logLines.push(line) });
  return openBreachFile(path, { log });
}

describe("openBreachFile()", () => {
  it.each([
    { count: 1, end: "\r\n" },
    { count: 2, end: "\n" },
    { count: 80, end: "\r\n" },
    { count: 1500, end: "\r\n" },
    { count: 1500, end: "\n" },
  ])("finds each of $count passwords and no other", async ({ count, end }) => {
    const passwords = numbered(count);
    writeFileSync(path, lines(passwords).join(end));
    const breached = open();
    expect(await lookUp(breached, passwords)).toEqual(passwords);
    expect(
      await lookUp(
        breached,
        numbered(200).map((password) => `${password}!`),
      ),
    ).toEqual([]);
    expect(logLines).toEqual([]);
  });

  it("finds hashes without counts, in lower case, with a line end after the last", async () => {
    const hashes = numbered(500).map(sha1).sort();
    writeFileSync(path, `${hashes.join("\n").toLowerCase()}\n`);
    const breached = open();
    expect(await lookUp(breached, numbered(500))).toEqual(numbered(500));
    expect(await breached.has("not leaked")).toBe(false);
  });

  it("reads little of a large file", async () => {
    const hashes = numbered(20_000).map(sha1).sort();
    writeFileSync(path, hashes.join("\n"));
    const breached = open();
    // A damaged part that no search for the first hash reads.
    writeFileSync(path, Buffer.from("x".repeat(100_000)), { flag: "r+" });
    const last = numbered(20_000).find((password) => sha1(password) === hashes.at(-1));
    expect(await breached.has(String(last))).toBe(true);
    expect(logLines).toEqual([]);
  });

  it("reads a new file that takes the place of the old one", async () => {
    writeFileSync(path, lines(["old"]).join("\n"));
    const breached = open();
    writeFileSync(`${path}.new`, lines(["new"]).join("\n"));
    renameSync(`${path}.new`, path);
    expect([await breached.has("old"), await breached.has("new")]).toEqual([false, true]);
  });

  it.each([
    {
      name: "is gone",
      damage: () => {
        rmSync(path);
      },
    },
    {
      name: "is damaged",
      damage: () => {
        writeFileSync(path, "x".repeat(50_000));
      },
    },
  ])("accepts passwords and logs it when the file $name later", async ({ damage }) => {
    writeFileSync(path, lines(numbered(500)).join("\n"));
    const breached = open();
    damage();
    expect(await breached.has("leaked-1")).toBe(false);
    expect(logLines.join()).toContain("Cannot look up a password in PASSWORD_BREACH_FILE, it is accepted");
    expect(logLines.join()).not.toContain("leaked-1");
  });

  it.each([
    { name: "does not exist", text: undefined },
    { name: "is empty", text: "" },
    { name: "has other lines", text: "password\n123456\n" },
    { name: "has NTLM hashes", text: `${"0".repeat(32)}:3\n` },
  ])("refuses a file that $name, by name", ({ text }) => {
    if (text !== undefined) writeFileSync(path, text);
    expect(() => open()).toThrow(`Cannot use PASSWORD_BREACH_FILE ${path}`);
  });

  it("refuses a file that is ordered by count", () => {
    const byCount = lines(numbered(5000)).toSorted((a, b) => Number(b.split(":")[1]) - Number(a.split(":")[1]));
    writeFileSync(path, byCount.join("\r\n"));
    expect(() => open()).toThrow(`Cannot use PASSWORD_BREACH_FILE ${path}: its lines are not ordered by hash`);
  });

  it("still finds what is before the end of a file that was cut off", async () => {
    const hashes = lines(numbered(2000));
    writeFileSync(path, hashes.join("\n"));
    truncateSync(path, 60_000);
    const password = numbered(2000).find((candidate) => hashes[0]?.startsWith(sha1(candidate)) === true);
    expect(await open().has(String(password))).toBe(true);
  });
});
