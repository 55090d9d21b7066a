// Tests of the program itself, as a process: help, refusal of bad settings, start, signals and the
// end.
import { once } from "node:events";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { status } from "@grpc/grpc-js";
import { ScriptedPod } from "@weir/harness/ads/scripted-pod";
import { startSource } from "@weir/harness/processes/programs";
import type { Program } from "@weir/harness/processes/start-process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { createTestCertificates, tlsOf, type TestCertificates, until } from "./ads/ads-client.suite.ts";
import { manifest } from "./translate/manifests.suite.ts";

describe("weir-control-plane", () => {
  let folder: string;
  let certificates: TestCertificates;
  const started: Program[] = [];

  function run(env: Readonly<Record<string, string>>, ...args: readonly string[]): Program {
    const running = startSource("control-plane/src/main.ts", env, args);
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
      CONSOLE_PORT: "0",
      ADS_TLS_CERT: certificates.server.certPath,
      ADS_TLS_KEY: certificates.server.keyPath,
      ADS_TLS_CLIENT_CACERT: certificates.server.caPath,
    };
  }

  /** Waits for the line that says where it serves, and gives the ADS port. */
  async function portOf(running: Program): Promise<number> {
    return Number((await running.find(/Control plane is up.*ads="127\.0\.0\.1:(\d+)"/))[1]);
  }

  beforeEach(async () => {
    folder = realpathSync(mkdtempSync(join(tmpdir(), "weir-main-")));
    writeFileSync(join(folder, "a.yaml"), manifest({ name: "a", domain: "alpha" }));
    certificates = await createTestCertificates();
  });

  afterEach(async () => {
    for (const running of started.splice(0)) await running.end();
    certificates.remove();
    rmSync(folder, { recursive: true, force: true });
  });

  it("prints its settings when asked for help", async () => {
    const running = run({}, "--help");
    expect(await running.code).toBe(0);
    expect(running.text()).toContain("ADS_TLS_CLIENT_CACERT");
  });

  it("lists everything that is wrong with its settings and ends with 1", async () => {
    const running = run({ SOURCE_DIRECTORY: folder, ADS_PORT: "many" });
    expect(await running.code).toBe(1);
    for (const name of ["ADS_PORT", "ADS_TLS_CERT", "ADS_TLS_KEY", "ADS_TLS_CLIENT_CACERT"])
      expect(running.text()).toContain(name);
    expect(running.text()).not.toContain("    at ");
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
    expect(await running.code).toBe(1);
    expect(running.text()).toContain(message);
    expect(running.text()).not.toContain("    at ");
  });

  it.each([
    { setting: "ADS_PORT", what: "ADS" },
    { setting: "HTTP_PORT", what: "HTTP" },
    { setting: "CONSOLE_PORT", what: "console" },
  ])("names the port and $setting, and ends with 1, when the port is in use", async ({ setting, what }) => {
    const taken = createServer().listen(0, "127.0.0.1");
    await once(taken, "listening");
    const address = taken.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    const running = run({ ...environment(), [setting]: String(port) });
    expect(await running.code).toBe(1);
    taken.close();
    expect(running.text()).toContain(
      `weir-control-plane: Cannot listen for ${what} on 127.0.0.1:${port}: the port is in use; set ${setting} to another one\n`,
    );
    expect(running.text()).not.toContain("    at ");
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
    running.signal("SIGINT");
    expect((await pod.ended()).code).toBe(status.UNAVAILABLE);
    expect(await running.code).toBe(0);
    pod.close();
  });

  it("continues serving for SHUTDOWN_DRAIN when it is terminated, and then ends with 0", async () => {
    const running = run({ ...environment(), SHUTDOWN_DRAIN: "8s" });
    const pod = new ScriptedPod(await portOf(running), {
      tls: tlsOf(await certificates.issueClient()),
    });
    pod.request();
    await pod.response(1);
    running.signal("SIGTERM");
    await until("the drain", () => running.text().includes("Stopping"));
    writeFileSync(join(folder, "b.yaml"), manifest({ name: "b", domain: "beta" }));
    await pod.response(2);
    expect(pod.end).toBeUndefined();
    expect((await pod.ended()).code).toBe(status.UNAVAILABLE);
    expect(await running.code).toBe(0);
    pod.close();
  });

  it("reads certificates again at SIGHUP and continues", async () => {
    const running = run(environment());
    const port = await portOf(running);
    await certificates.renewServer();
    running.signal("SIGHUP");
    // The files and nothing else of the settings.
    const line = /msg="Reloaded TLS files" certPath=\S+ keyPath=\S+ caPath=\S+\n/;
    await until("the reload", () => line.test(running.text()));
    const pod = new ScriptedPod(port, { tls: tlsOf(await certificates.issueClient()) });
    pod.request();
    await pod.response(1);
    pod.close();
  });
});
