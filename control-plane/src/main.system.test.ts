// Tests of the program itself, as a process: help, refusal of bad settings, start, signals and the
// end.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { status } from "@grpc/grpc-js";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createTestCertificates, tlsOf, type TestCertificates, until } from "./ads/ads-client.suite.ts";
import { manifest } from "./assemble/manifests.suite.ts";

const PROGRAM = join(import.meta.dirname, "main.ts");

/** A started program and what it wrote. */
interface Running {
  readonly process: ChildProcess;
  readonly output: () => string;
  /** How it ended, once it has. */
  readonly ended: Promise<number | null>;
}

describe("weir-control-plane", () => {
  let folder: string;
  let certificates: TestCertificates;
  const started: Running[] = [];

  function run(env: Readonly<Record<string, string>>, ...args: readonly string[]): Running {
    const child = spawn(process.execPath, ["--conditions=source", PROGRAM, ...args], {
      env,
      stdio: ["ignore", "pipe", "pipe"],
    });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
    const running = {
      process: child,
      output: () => text,
      ended: once(child, "close").then(([code]) => code as number | null),
    };
    started.push(running);
    return running;
  }

  function environment(): Record<string, string> {
    return {
      SOURCE_DIRECTORY: folder,
      ADS_HOST: "127.0.0.1",
      ADS_PORT: "0",
      HTTP_HOST: "127.0.0.1",
      HTTP_PORT: "0",
      ADS_TLS_CERT: certificates.server.certPath,
      ADS_TLS_KEY: certificates.server.keyPath,
      ADS_TLS_CLIENT_CACERT: certificates.server.caPath,
    };
  }

  /** Waits for the line that says where it serves, and gives the ADS port. */
  async function portOf(running: Running): Promise<number> {
    await until(`the start; there is ${running.output()}`, () => running.output().includes("Control plane is up"));
    return Number(/ads="127\.0\.0\.1:(\d+)"/.exec(running.output())?.[1]);
  }

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-main-")));
    writeFileSync(join(folder, "a.yaml"), manifest({ name: "a", domain: "alpha" }));
    certificates = await createTestCertificates();
  });

  afterEach(async () => {
    for (const running of started.splice(0)) {
      running.process.kill("SIGKILL");
      await running.ended;
    }
    certificates.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it("prints its settings when asked for help", async () => {
    const running = run({}, "--help");
    expect(await running.ended).toBe(0);
    expect(running.output()).toContain("ADS_TLS_CLIENT_CACERT");
  });

  it("lists everything that is wrong with its settings and ends with 1", async () => {
    const running = run({ SOURCE_DIRECTORY: folder, ADS_PORT: "many" });
    expect(await running.ended).toBe(1);
    for (const name of ["ADS_PORT", "ADS_TLS_CERT", "ADS_TLS_KEY", "ADS_TLS_CLIENT_CACERT"])
      expect(running.output()).toContain(name);
    expect(running.output()).not.toContain("    at ");
  });

  it.each([
    {
      what: "the folder",
      difference: { SOURCE_DIRECTORY: "/nowhere/limits" },
      message: "Cannot read the folder /nowhere/limits: it does not exist",
    },
    { what: "the certificate", difference: { ADS_TLS_CERT: "/nowhere/cert.pem" }, message: "/nowhere/cert.pem" },
  ])("names $what in one line and ends with 1 when it cannot be read", async ({ difference, message }) => {
    const running = run({ ...environment(), ...difference });
    expect(await running.ended).toBe(1);
    expect(running.output()).toContain(message);
    expect(running.output()).not.toContain("    at ");
  });

  it.each([
    { setting: "ADS_PORT", what: "ADS" },
    { setting: "HTTP_PORT", what: "HTTP" },
  ])("names the port and $setting, and ends with 1, when the port is in use", async ({ setting, what }) => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const address = taken.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const running = run({ ...environment(), [setting]: String(port) });
    expect(await running.ended).toBe(1);
    taken.close();
    expect(running.output()).toContain(
      `weir-control-plane: Cannot listen for ${what} on 127.0.0.1:${port}: the port is in use; set ${setting} to another one\n`,
    );
    expect(running.output()).not.toContain("    at ");
  });

  it("case A14: ends streams with UNAVAILABLE and itself with 0 when it is interrupted", async () => {
    // A person at the terminal waits for no drain, and a process that is ended because its grace is
    // over ends with another code.
    const running = run({ ...environment(), SHUTDOWN_DRAIN: "1h", SHUTDOWN_GRACE: "20s" });
    const pod = new ScriptedPod(await portOf(running), {
      tls: tlsOf(await certificates.issueClient()),
    });
    pod.request();
    await pod.response(1);
    running.process.kill("SIGINT");
    expect((await pod.ended()).code).toBe(status.UNAVAILABLE);
    expect(await running.ended).toBe(0);
    pod.close();
  });

  it("continues serving for SHUTDOWN_DRAIN when it is terminated, and then ends with 0", async () => {
    const running = run({ ...environment(), SHUTDOWN_DRAIN: "8s" });
    const pod = new ScriptedPod(await portOf(running), {
      tls: tlsOf(await certificates.issueClient()),
    });
    pod.request();
    await pod.response(1);
    running.process.kill("SIGTERM");
    await until("the drain", () => running.output().includes("Stopping"));
    writeFileSync(join(folder, "b.yaml"), manifest({ name: "b", domain: "beta" }));
    await pod.response(2);
    expect(pod.end).toBeUndefined();
    expect((await pod.ended()).code).toBe(status.UNAVAILABLE);
    expect(await running.ended).toBe(0);
    pod.close();
  });

  it("reads certificates again at SIGHUP and continues", async () => {
    const running = run(environment());
    const port = await portOf(running);
    await certificates.renewServer();
    running.process.kill("SIGHUP");
    // The files and nothing else of the settings.
    const line = /msg="Reloaded TLS files" certPath=\S+ keyPath=\S+ caPath=\S+\n/;
    await until("the reload", () => line.test(running.output()));
    const pod = new ScriptedPod(port, { tls: tlsOf(await certificates.issueClient()) });
    pod.request();
    await pod.response(1);
    pod.close();
  });
});
