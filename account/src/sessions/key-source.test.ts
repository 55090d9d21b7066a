import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { createLog, silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { watchedKeys } from "./key-source.ts";

let folder: ReturnType<typeof makeTemporaryFolder>;

beforeEach(() => {
  folder = makeTemporaryFolder();
});

afterEach(() => {
  vi.useRealTimers();
  folder.remove();
});

function keyFile(kid: string): string {
  const access = { kid, use: "access", alg: "HS256", key: `access-secret-of-32-bytes-or-more-${kid}`, state: "sign" };
  return JSON.stringify([access, { ...access, use: "refresh", key: `refresh-secret-of-32-bytes-or-more-${kid}` }]);
}

describe("watchedKeys()", () => {
  it("takes over a changed file, and keeps the old keys and logs once while it cannot be read or used", async () => {
    vi.useFakeTimers();
    const path = join(folder.path, "keys.json");
    writeFileSync(path, keyFile("one"));
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json", write: (line) => lines.push(line) });
    const keys = watchedKeys(path, { log }, { pollIntervalMs: 1000 });
    await keys.start?.();
    const step = (change: () => void): readonly string[] => {
      rmSync(path, { force: true, recursive: true });
      change();
      const before = lines.length;
      vi.advanceTimersByTime(2000);
      const logged = lines.slice(before).map((line) => JSON.parse(line) as Readonly<Record<string, string>>);
      return [keys.current().access.signing.id, ...logged.map((line) => String(line["@message"]))];
    };
    const refused = "Cannot use the changed token keys, the old ones stay active";
    expect(step(() => writeFileSync(path, keyFile("second")))).toEqual(["second", "Token keys reloaded"]);
    expect(step(() => writeFileSync(path, "[]"))).toEqual(["second", refused]);
    expect(step(() => undefined)).toEqual(["second", refused]);
    expect(step(() => symlinkSync(path, path))).toEqual(["second", refused]);
    expect(step(() => mkdirSync(path))).toEqual(["second", refused]);
    expect(step(() => writeFileSync(path, keyFile("second")))).toEqual(["second"]);
    expect(step(() => writeFileSync(path, keyFile("third")))).toEqual(["third", "Token keys reloaded"]);
    await keys.stop?.();
    expect(lines.join()).not.toContain("secret-of");
  });

  it("names a file that cannot be read or used", () => {
    const path = join(folder.path, "keys.json");
    expect(() => watchedKeys(path, { log: silentLog() })).toThrow(`Cannot read the key file ${path}`);
    writeFileSync(path, "[]");
    expect(() => watchedKeys(path, { log: silentLog() })).toThrow(
      `Cannot use the key file ${path}: 0 keys have use "access" and state "sign", exactly one must; 0 keys have use "refresh" and state "sign", exactly one must`,
    );
  });
});
