// Tests what the programs load before they know that they need it. Each runs as a process of its own,
// with a hook that reports packages.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { type Program, startProgram } from "@weir/harness/processes/start-process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { FREE_PORTS } from "./startup/started-program.suite.ts";

/** Prints on standard error which of the packages that take time are loaded. */
const HOOK = `
  import { registerHooks } from "node:module";
  const reported = new Set();
  registerHooks({
    load(url, context, next) {
      const name = /node_modules\\/(@grpc\\/grpc-js|@bufbuild\\/protobuf|@opentelemetry\\/sdk-trace-base|ioredis|prom-client|yaml)\\//.exec(url)?.[1];
      if (name !== undefined && !reported.has(name)) process.stderr.write("loads " + name + "\\n");
      reported.add(name);
      return next(url, context);
    },
  });`;

describe("the programs of this workspace", () => {
  let folder: string;
  let program: Program | undefined;

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), "weir-loading-"));
    await mkdir(join(folder, "config"));
  });

  afterEach(async () => {
    await program?.end();
    await rm(folder, { recursive: true, force: true });
  });

  /**
   * Runs a program until it ends or its output matches; answers what it has loaded by then, and its
   * output.
   */
  async function run(
    script: string,
    args: readonly string[],
    env: Readonly<Record<string, string>>,
    until: RegExp,
  ): Promise<{ readonly loaded: readonly string[]; readonly output: string }> {
    const options = ["--conditions=source", "--import", `data:text/javascript,${encodeURIComponent(HOOK)}`];
    const command = [...options, fileURLToPath(new URL(script, import.meta.url)), ...args];
    program = startProgram(process.execPath, command, env);
    const started = program;
    await expect.poll(() => !started.isRunning() || until.test(started.text()), { timeout: 60_000 }).toBe(true);
    if (!started.isRunning()) await started.code;
    const output = started.text();
    return { loaded: [...output.matchAll(/^loads (.*)$/gm)].map(([, name]) => name ?? "").sort(), output };
  }

  it("main.ts --help loads nothing that takes time", async () => {
    const { loaded, output } = await run("main.ts", ["--help"], {}, /Shows the version/);
    expect(output).toContain("Shows the version");
    expect(loaded).toEqual([]);
  });

  it("main.ts loads no gRPC library, no store, no tracing and no metrics when the settings ask for none", async () => {
    await writeFile(
      join(folder, "config", "rules.yaml"),
      "domain: d\ndescriptors: [{key: k, rate_limit: {unit: day, requests_per_unit: 1}}]\n",
    );
    const env = { ...FREE_PORTS, BACKEND_TYPE: "memory", RUNTIME_ROOT: folder };
    const { loaded, output } = await run("main.ts", [], env, /Listening for HTTP/);
    expect(output).toContain("Listening for HTTP");
    expect(loaded).toEqual(["@bufbuild/protobuf", "yaml"]);
  });
});
