import { callerGroup } from "@weir/common/callers/caller-group";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createLog, silentLog } from "@weir/common/log/log";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { describe, expect, it } from "vitest";
import { createThrottle, type ThrottleSettings } from "./create-throttle.ts";
import { addressCheck, LIMITS } from "./limits.ts";

const EVENTS = { decided: () => undefined, failed: () => undefined };

const CHECK = addressCheck("register", callerGroup("203.0.113.7"));

function service(caPath?: string): ThrottleSettings["service"] {
  const tls = caPath === undefined ? undefined : { paths: { caPath }, serverName: undefined };
  return { target: "127.0.0.1:1", domain: "account", timeoutMs: 50, tls };
}

describe("createThrottle()", () => {
  it("fails when a TLS file cannot be used", () => {
    const folder = makeTemporaryFolder();
    try {
      const caPath = join(folder.path, "ca.pem");
      writeFileSync(caPath, "nonsense");
      const deps = { log: silentLog(), clock: Date.now, monotonicMs: () => performance.now(), events: EVENTS };
      expect(() => createThrottle({ service: service(caPath), failure: "local", limits: LIMITS }, deps)).toThrow(
        expect.objectContaining({ code: "TLS_FILE_INVALID" }) as Error,
      );
    } finally {
      folder.remove();
    }
  });

  it("decides alone before its client is started and after it is stopped", async () => {
    const deps = { log: silentLog(), clock: () => 0, monotonicMs: () => 0, events: EVENTS };
    const { throttle, parts } = createThrottle({ service: service(), failure: "local", limits: LIMITS }, deps);
    expect(await throttle.decide(CHECK)).toMatchObject({ isAllowed: true });
    for (const part of parts) await part.start?.();
    for (const part of parts.toReversed()) await part.stop?.();
    const decisions = [];
    for (let request = 0; request < 5; request++) decisions.push((await throttle.decide(CHECK)).isAllowed);
    expect(decisions).toEqual([true, true, true, true, false]);
  });

  it("logs at the start that no service is set", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json", write: (line) => lines.push(line) });
    const deps = { log, clock: Date.now, monotonicMs: () => performance.now(), events: EVENTS };
    const { parts } = createThrottle({ service: undefined, failure: "local", limits: LIMITS }, deps);
    for (const part of parts) await part.start?.();
    expect(lines.join("")).toContain("No rate limit service is set, this process limits requests alone");
  });
});
