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
    { args: ["check-login", "http://a:8000"], command: { kind: "check-login", url: "http://a:8000" } },
    {
      args: ["check-login", "a:8000"],
      command: {
        kind: "invalid",
        message: 'Cannot read the arguments: check-login takes one http or https URL of a service, and got "a:8000"',
      },
    },
    {
      args: ["restore", "a"],
      command: {
        kind: "invalid",
        message:
          'Cannot read the arguments: "restore" is no command; allowed are backup, sweep and check-login, or nothing to serve',
      },
    },
  ])("gives $command.kind for $args", ({ args, command }) => {
    expect(parseCommand(args)).toEqual(command);
  });
});
