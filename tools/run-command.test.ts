// How the end of a program is reported.
import { describe, expect, it } from "vitest";
import { runCommand } from "./run-command.ts";

describe("runCommand()", () => {
  it("gives the exit code and both outputs", async () => {
    expect(await runCommand(["sh", "-c", "echo out; echo err >&2; exit 3"])).toMatchObject({
      code: 3,
      output: "out\nerr\n",
    });
  });

  it("says so when the program is not there", async () => {
    expect(await runCommand(["no-such-program"])).toMatchObject({
      code: 1,
      output: "Cannot start no-such-program: spawn no-such-program ENOENT\n",
    });
  });

  it("says so when a signal ended the program", async () => {
    expect(await runCommand(["sh", "-c", "kill -KILL $$"])).toMatchObject({
      code: 1,
      output: "sh was ended by SIGKILL\n",
    });
  });

  it("finds programs on the PATH that it is given, after those of the packages", async () => {
    const { output } = await runCommand(["sh", "-c", 'echo "$PATH"'], { env: { PATH: "/somewhere:/usr/bin:/bin" } });
    expect(output).toMatch(/\/node_modules\/\.bin:\/somewhere:\/usr\/bin:\/bin\n$/);
  });

  it("adds to the environment what it is given", async () => {
    expect(await runCommand(["sh", "-c", 'echo "$FLAVOUR"'], { env: { FLAVOUR: "sour" } })).toMatchObject({
      output: "sour\n",
    });
  });
});
