import { describe, expect, it } from "vitest";
import { Terminal } from "./terminal.ts";

describe("Terminal", () => {
  it("prints progress with the seconds since its start and events with the time of day", () => {
    let nowMs = new Date(2026, 2, 1, 9, 5, 7).getTime();
    let written = "";
    const terminal = new Terminal({ write: (text) => (written += text), clock: () => nowMs });
    nowMs += 1240;
    terminal.progress("control plane", "ready");
    terminal.event("rate limit", "accepted version 1");
    terminal.plain("done");
    expect(written).toBe("   1.2 s  control plane  ready\n09:05:08  rate limit     accepted version 1\ndone\n");
  });

  it("indents further lines below the first", () => {
    let written = "";
    const terminal = new Terminal({ write: (text) => (written += text), clock: () => 0 });
    terminal.progress("account", "one\ntwo");
    expect(written).toBe("   0.0 s  account        one\n                         two\n");
  });
});
