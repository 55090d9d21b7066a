import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { silentLog } from "@weir/common/log/log";
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
  it("takes over a changed file and keeps the old keys when the change is bad", async () => {
    vi.useFakeTimers();
    const path = join(folder.path, "keys.json");
    writeFileSync(path, keyFile("one"));
    const keys = watchedKeys(path, { log: silentLog() }, { pollIntervalMs: 1000 });
    await keys.start?.();
    expect(keys.current().access.signing.id).toBe("one");
    writeFileSync(path, keyFile("second"));
    vi.advanceTimersByTime(1000);
    expect(keys.current().access.signing.id).toBe("second");
    writeFileSync(path, "[]");
    vi.advanceTimersByTime(1000);
    expect(keys.current().access.signing.id).toBe("second");
    rmSync(path);
    vi.advanceTimersByTime(1000);
    expect(keys.current().access.signing.id).toBe("second");
    writeFileSync(path, keyFile("third"));
    vi.advanceTimersByTime(1000);
    expect(keys.current().access.signing.id).toBe("third");
    await keys.stop?.();
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
