import { silentLog } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";

import { createFirstConfigurationWait } from "./first-configuration.ts";

describe("createFirstConfigurationWait", () => {
  it("start() resolves when rules are active", async () => {
    const first = Promise.withResolvers<void>();
    const part = createFirstConfigurationWait({ first: first.promise, log: silentLog() });
    let isStarted = false;
    const started = Promise.resolve(part.start?.()).then(() => {
      isStarted = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect(isStarted).toBe(false);
    first.resolve();
    await started;
  });

  it("stop() ends the wait", async () => {
    const part = createFirstConfigurationWait({ first: new Promise(() => undefined), log: silentLog() });
    const started = part.start?.();
    await part.stop?.();
    await started;
  });
});
