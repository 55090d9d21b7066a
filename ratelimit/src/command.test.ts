import { describe, expect, it } from "vitest";

import { type Command, parseCommand } from "./command.ts";

const TAKES = "Cannot read the arguments: check-ads takes --timeout with 1 to 3600 seconds, and got ";

describe("parseCommand()", () => {
  it.each<{ args: readonly string[]; command: Command }>([
    { args: [], command: { kind: "serve" } },
    { args: ["check-ads"], command: { kind: "check-ads", timeoutMs: 30_000 } },
    { args: ["check-ads", "--timeout", "5"], command: { kind: "check-ads", timeoutMs: 5000 } },
    { args: ["check-ads", "--timeout"], command: { kind: "invalid", message: `${TAKES}"--timeout"` } },
    { args: ["check-ads", "--timeout", "0"], command: { kind: "invalid", message: `${TAKES}"--timeout 0"` } },
    { args: ["check-ads", "--timeout", "5s"], command: { kind: "invalid", message: `${TAKES}"--timeout 5s"` } },
    { args: ["check-ads", "5"], command: { kind: "invalid", message: `${TAKES}"5"` } },
    { args: ["check-ads", "--timeout", "5", "6"], command: { kind: "invalid", message: `${TAKES}"--timeout 5 6"` } },
    {
      args: ["--port=1"],
      command: {
        kind: "invalid",
        message: 'Cannot read the arguments: "--port=1" is no command; allowed is check-ads, or nothing to serve',
      },
    },
  ])("gives $command.kind for $args", ({ args, command }) => {
    expect(parseCommand(args)).toEqual(command);
  });
});
