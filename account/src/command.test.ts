import { describe, expect, it } from "vitest";
import { type Command, parseCommand } from "./command.ts";

describe("parseCommand()", () => {
  it.each<{ args: readonly string[]; command: Command }>([
    { args: [], command: { kind: "serve" } },
    { args: ["backup", "a.sqlite"], command: { kind: "backup", file: "a.sqlite" } },
    {
      args: ["backup"],
      command: {
        kind: "invalid",
        message: "Cannot read the arguments: backup takes one argument, the file to write, and got 0",
      },
    },
    {
      args: ["backup", "a", "b"],
      command: {
        kind: "invalid",
        message: "Cannot read the arguments: backup takes one argument, the file to write, and got 2",
      },
    },
    {
      args: ["backup", ""],
      command: {
        kind: "invalid",
        message: "Cannot read the arguments: backup takes one argument, the file to write, and got 1",
      },
    },
    { args: ["sweep"], command: { kind: "sweep", isForced: false } },
    { args: ["sweep", "--force"], command: { kind: "sweep", isForced: true } },
    {
      args: ["sweep", "--forced"],
      command: {
        kind: "invalid",
        message: 'Cannot read the arguments: sweep takes --force or nothing, and got "--forced"',
      },
    },
    {
      args: ["restore", "a"],
      command: {
        kind: "invalid",
        message:
          'Cannot read the arguments: "restore" is no command; allowed are backup and sweep, or nothing to serve',
      },
    },
  ])("gives $command.kind for $args", ({ args, command }) => {
    expect(parseCommand(args)).toEqual(command);
  });
});
