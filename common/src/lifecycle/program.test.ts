// How a program answers, stops and ends, with a fake process.
import { describe, expect, it } from "vitest";

import { ServiceError } from "../errors/service-error.ts";
import { createLog } from "../log/log.ts";
import { type Env, EnvReader } from "../settings/read-env.ts";
import type { ProgramHost } from "./host.ts";
import { type Program, type ProgramContext, runProgram } from "./program.ts";

/** Ends what runs in a fake process, as a real exit would. */
class FakeHost implements ProgramHost {
  readonly args: readonly string[];
  readonly env: Env;
  readonly listeners = new Map<string, () => void>();
  readonly exited = Promise.withResolvers<number>();
  isHurried = false;
  timeMs = 0;
  out = "";
  err = "";
  uncaught: (error: unknown) => void = () => undefined;

  constructor(args: readonly string[] = [], env: Env = {}) {
    this.args = args;
    this.env = env;
  }

  version(): string {
    return "1.2.3";
  }

  columns(): number {
    return 80;
  }

  nowMs(): number {
    return this.timeMs;
  }

  stdout(text: string): void {
    this.out += text;
  }

  stderr(text: string): void {
    this.err += text;
  }

  onSignal(name: string, listener: () => void): void {
    if (this.listeners.has(name)) throw new Error(`${name} is listened to twice`);
    this.listeners.set(name, listener);
  }

  onUncaught(listener: (error: unknown) => void): void {
    this.uncaught = listener;
  }

  exit(code: number): void {
    this.exited.resolve(code); // The first exit is the one that counts.
  }

  exitNow(code: number): void {
    this.isHurried = true;
    this.exit(code);
  }

  /** Sends a signal, which ends a process that does not listen. */
  kill(name: string): void {
    const listener = this.listeners.get(name);
    if (listener === undefined) this.exit(128);
    else listener();
  }
}

const service: Program = { name: "weir-test", summary: "Tests." };
const command: Program = { ...service, usage: "FILE…" };

/** Runs a program on a fake process and waits for its exit. */
async function run(
  program: Program,
  host: FakeHost,
  main: (context: ProgramContext) => Promise<number | undefined>,
): Promise<number> {
  runProgram(program, main, host);
  return host.exited.promise;
}

/** The result of a main that hangs; takes what it has looked at before. */
const forever = (_seen?: unknown): Promise<number> => Promise.withResolvers<number>().promise;

const unreachable = (): Promise<number> => Promise.reject(new Error("main was called"));

describe("runProgram() answers", () => {
  it.each(["--version", "-version"])(
    "runProgram() prints name and version when the argument is %s",
    async (argument) => {
      const host = new FakeHost([argument]);
      expect(await run(service, host, unreachable)).toBe(0);
      expect(host.out).toBe("weir-test 1.2.3\n");
    },
  );

  it.each(["--help", "-help", "-h"])(
    "runProgram() prints help with the settings when the argument is %s",
    async (argument) => {
      const host = new FakeHost([argument]);
      const settings = () => [{ names: ["PORT"], type: "port", default: "80", effect: "Port." }];
      expect(await run({ ...service, settings }, host, unreachable)).toBe(0);
      expect(host.out).toMatch(
        /^weir-test 1\.2\.3\nTests\.\n\nUsage: weir-test\n[^]*\n {2}PORT {2}\(port; default 80\)\n {6}Port\.\n$/,
      );
    },
  );

  it("runProgram() refuses arguments when the program takes none", async () => {
    const host = new FakeHost(["--port=1"]);
    expect(await run(service, host, unreachable)).toBe(2);
    expect(host.err).toBe(
      'weir-test: Cannot use the argument "--port=1": this program takes none, only --help and --version; its settings are environment variables\n',
    );
  });

  it("runProgram() hands arguments to main when the program takes some", async () => {
    const host = new FakeHost(["a.yaml", "--help"]);
    const code = await run(command, host, async ({ args, stdout }) => {
      stdout(args.join("+"));
      return 3;
    });
    expect(code).toBe(3);
    expect(host.out).toBe("a.yaml+--help");
  });

  it("runProgram() exits with 0 when main returns nothing", async () => {
    expect(await run(service, new FakeHost(), async () => undefined)).toBe(0);
  });
});

describe("runProgram() errors", () => {
  it("runProgram() prints message and causes without a stack when main fails with a ServiceError", async () => {
    const host = new FakeHost();
    const failure = new ServiceError("STORE_UNAVAILABLE", "Cannot reach the store", { cause: new Error("refused") });
    expect(await run(service, host, () => Promise.reject(failure))).toBe(1);
    expect(host.err).toBe("weir-test: Cannot reach the store: refused\n");
  });

  it("runProgram() prints every problem on its line when the settings are wrong", async () => {
    const host = new FakeHost([], { PORT: "x", RATIO: "7" });
    const code = await run(service, host, async ({ env }) => {
      const read = new EnvReader(env);
      read.port("PORT", { default: 80, effect: "" });
      read.ratio("RATIO", { default: 1, effect: "" });
      read.done();
      return 0;
    });
    expect(code).toBe(1);
    expect(host.err).toBe(
      'weir-test: Cannot read the settings: 2 settings are wrong\n  PORT="x": allowed is a port number from 0 to 65535\n  RATIO="7": allowed is a number from 0 to 1\n',
    );
  });

  it("runProgram() prints the stack when main throws something unexpected before its first await", async () => {
    const host = new FakeHost();
    const code = await run(service, host, () => {
      throw new TypeError("x is not a function");
    });
    expect(code).toBe(1);
    expect(host.err).toMatch(/^weir-test: unexpected error, the process ends: TypeError: x is not a function\n {4}at /);
  });

  it("runProgram() logs the stack when main gave its log and an error is not caught", async () => {
    const host = new FakeHost();
    const lines: string[] = [];
    const log = createLog({ level: "info", format: "json", write: (line) => void lines.push(line) });
    const code = await run(service, host, ({ useLog }) => {
      useLog(log);
      host.uncaught(new RangeError("rejected somewhere"));
      return forever();
    });
    expect(code).toBe(1);
    expect(JSON.parse(lines[0]!)).toMatchObject({
      level: "error",
      "@message": "Unexpected error, the process ends",
      error: "rejected somewhere",
      stack: expect.stringContaining("RangeError: rejected somewhere\n"),
    });
    expect(host.err).toBe("");
  });
});

describe("runProgram() signals", () => {
  /** A program that runs until its signal and says which it was. */
  const untilSignal = ({ signal, signalName, stdout }: ProgramContext): Promise<number> =>
    new Promise((resolve) => {
      signal.addEventListener("abort", () => {
        stdout(signalName() ?? "none");
        resolve(0);
      });
    });

  it.each(["SIGINT", "SIGTERM"])("runProgram() aborts the signal and lets main end when %s arrives", async (name) => {
    const host = new FakeHost();
    const exited = run(service, host, untilSignal);
    host.kill(name);
    expect(await exited).toBe(0);
    expect(host.out).toBe(name);
  });

  it("runProgram() leaves signals to end the process when main never looks at its signal", async () => {
    const host = new FakeHost();
    const exited = run(service, host, async ({ args }) => forever(args));
    host.kill("SIGINT");
    expect(await exited).toBe(128);
  });

  it.each([
    { first: "SIGINT", second: "SIGINT", code: 130 },
    { first: "SIGINT", second: "SIGTERM", code: 143 },
  ])(
    "runProgram() exits with $code when $second comes a second after $first and main hangs",
    async ({ first, second, code }) => {
      const host = new FakeHost();
      const exited = run(service, host, async ({ signal }) => forever(signal));
      host.kill(first);
      host.timeMs = 999;
      host.kill(second); // An echo of the first: does nothing.
      host.timeMs = 1000;
      host.kill(second);
      host.exit(99);
      expect([await exited, host.isHurried]).toEqual([code, true]);
    },
  );

  it("runProgram() takes an early second signal for an echo when main still stops", async () => {
    const host = new FakeHost();
    const exited = run(service, host, async ({ signal }) => forever(signal));
    host.kill("SIGINT");
    host.timeMs = 999;
    host.kill("SIGINT");
    host.exit(99);
    expect(await exited).toBe(99);
  });

  it("onHangup() calls every listener at every SIGHUP", async () => {
    const host = new FakeHost();
    const calls: string[] = [];
    const exited = run(service, host, (context) => {
      context.onHangup(() => void calls.push("files"));
      context.onHangup(() => void calls.push("certificates"));
      return untilSignal(context);
    });
    host.kill("SIGHUP");
    host.kill("SIGHUP");
    expect(calls).toEqual(["files", "certificates", "files", "certificates"]);
    host.kill("SIGTERM");
    expect(await exited).toBe(0);
  });
});
