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
    { args: ["sweep"], command: { kind: "sweep", isDeleting: false } },
    { args: ["sweep", "--delete"], command: { kind: "sweep", isDeleting: true } },
    {
      args: ["sweep", "--force"],
      command: {
        kind: "invalid",
        message: 'Cannot read the arguments: sweep takes --delete or nothing, and got "--force"',
      },
    },
    { args: ["user", "lock", "a@x.com"], command: { kind: "user", action: "lock", email: "a@x.com" } },
    ...[["user"], ["user", "find"], ["user", "ban", "a@x.com"], ["user", "find", "a@x.com", "b@x.com"]].map((args) => ({
      args,
      command: {
        kind: "invalid" as const,
        message: `Cannot read the arguments: user takes one of find, lock, unlock, end-sessions, delete and an e-mail address, and got ${args.length - 1} arguments`,
      },
    })),
    { args: ["duplicates"], command: { kind: "duplicates", keep: undefined } },
    { args: ["duplicates", "--keep", "a"], command: { kind: "duplicates", keep: "a" } },
    {
      args: ["duplicates", "--keep"],
      command: {
        kind: "invalid",
        message: 'Cannot read the arguments: duplicates takes --keep ID or nothing, and got "--keep"',
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
          'Cannot read the arguments: "restore" is no command; allowed are backup, sweep, duplicates, user and check-login, or nothing to serve',
      },
    },
  ])("gives $command.kind for $args", ({ args, command }) => {
    expect(parseCommand(args)).toEqual(command);
  });
});
