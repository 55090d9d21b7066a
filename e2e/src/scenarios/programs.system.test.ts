// The promises of every program, whatever it does: immediate help and version, a quick start, and clear
// errors.
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { loopbackHosts } from "@weir/common/settings/listen-hosts";
import { anyPorts, launcher, ROOT, runCommand, startPlanned } from "@weir/harness/processes/programs";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { ensureCertificates } from "@weir/dev/setup/certificates";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import type { ProgramPlan } from "@weir/dev/setup/programs";
import { planPrograms } from "@weir/dev/setup/programs";

const PROGRAMS = [
  "weir-control-plane",
  "weir-ratelimit",
  "weir-account",
  "weir-client",
  "weir",
  "weir-config-check",
] as const;

/** How long a service may take to stop, in milliseconds. */
const STOP_GRACE_MS = 30_000;

describe.each(PROGRAMS)("%s", (program) => {
  it("answers --help with its name and how it is used", async () => {
    const { code, stdout } = await runCommand(`${launcher(program)} --help`, { cwd: ROOT });
    expect(code).toBe(0);
    expect(stdout).toContain(program);
    expect(stdout).toMatch(/usage/i);
  });

  it("answers --version with its name and version", async () => {
    const { code, stdout } = await runCommand(`${launcher(program)} --version`, { cwd: ROOT });
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${program} ${versionOfRepository()}\n` });
  });

  it("runs from any folder", async () => {
    const { code } = await runCommand(`${launcher(program)} --version`, { cwd: "/" });
    expect(code).toBe(0);
  });
});

describe("the services", () => {
  const folder = makeTemporaryFolder();
  const started: ProcessGroup[] = [];
  let plans: ReturnType<typeof planPrograms>;

  beforeAll(async () => {
    const certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost"],
      now: new Date(),
    });
    const place = { ports: await anyPorts(), certificates, sourceDirectory: join(ROOT, "examples", "limits") };
    plans = planPrograms({ ...place, accountDirectory: join(folder.path, "account"), machine: process.env });
  });

  afterAll(async () => {
    for (const each of started.toReversed()) await each.stop("SIGTERM", STOP_GRACE_MS);
    folder.remove();
  });

  /** The settings of a program but those that choose an address. */
  const withoutHosts = ({ env }: ProgramPlan): ProgramPlan["env"] =>
    Object.fromEntries(Object.entries(env).filter(([name]) => !name.endsWith("HOST")));

  it("are ready after their start", async () => {
    for (const plan of [plans.controlPlane, plans.rateLimit, plans.account])
      started.push(await startPlanned({ ...plan, env: withoutHosts(plan) }));
  });

  it.each(["controlPlane", "rateLimit", "account"] as const)(
    "take connections of IPv4 and IPv6 on every port when no address is set: %s",
    async (name) => {
      const ports = Object.entries(plans[name].env).filter(([setting]) => setting.endsWith("PORT"));
      expect(ports.length).toBeGreaterThan(1);
      for (const [, port] of ports)
        for (const host of loopbackHosts()) {
          const socket = connect(Number(port), host);
          await once(socket, "connect");
          socket.destroy();
        }
    },
  );

  it.each(["controlPlane", "rateLimit", "account"] as const)(
    "end with exit code 0 when %s receives a signal to stop",
    async (name) => {
      const position = (["controlPlane", "rateLimit", "account"] as const).indexOf(name);
      expect(await started[position]!.stop("SIGTERM", STOP_GRACE_MS)).toEqual({ code: 0, signal: null });
    },
  );

  it.each([
    { name: "controlPlane", setting: "ADS_PORT" },
    { name: "rateLimit", setting: "GRPC_PORT" },
    { name: "account", setting: "PORT" },
  ] as const)(
    "refuse a bad setting of $name by its name, immediately and without a stack trace",
    async ({ name, setting }) => {
      const { code, stderr } = await runPlanned(plans[name], { [setting]: "eighty" });
      expect(code).toBe(1);
      expect(stderr).toContain(setting);
      expect(stderr).toContain("eighty");
      expect(stderr).not.toMatch(/^\s+at /m);
    },
  );

  it.each([
    { name: "controlPlane", setting: "HTTP_PORT" },
    { name: "rateLimit", setting: "PORT" },
    { name: "account", setting: "PORT" },
  ] as const)(
    "name the port in use and the setting that moves it when $name cannot listen",
    async ({ name, setting }) => {
      const blocker = createServer();
      await once(blocker.listen(Number(plans[name].env[setting]), "127.0.0.1"), "listening");
      try {
        // A pod binds its ports once it has a configuration, so it gets one without waiting.
        const { code, stderr } = await runPlanned(plans[name], { FORCE_START_WITHOUT_INITIAL_CONFIG: "true" });
        expect(code).toBe(1);
        expect(stderr).toContain(plans[name].env[setting]!);
        expect(stderr).toMatch(new RegExp(`\\b${setting}\\b`));
      } finally {
        blocker.close();
      }
    },
  );
});

describe("weir check", () => {
  it("finds nothing wrong with the examples", async () => {
    const { code, stderr } = await runCommand(`${launcher("weir")} check examples/limits/*.yaml`, { cwd: ROOT });
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  });

  it("names file, line, field and reason when a manifest is broken", async () => {
    const folder = makeTemporaryFolder();
    const text = readFileSync(join(ROOT, "examples", "limits", "per-address.yaml"), "utf8").replace(
      "unit: minute",
      "unit: fortnight",
    );
    const line = text.split("\n").findIndex((each) => each.includes("fortnight")) + 1;
    const path = join(folder.path, "broken.yaml");
    writeFileSync(path, text);
    const { code, stdout, stderr } = await runCommand(`${launcher("weir")} check ${path}`, { cwd: ROOT });
    folder.remove();
    expect(code).toBe(1);
    expect(stdout + stderr).toMatch(
      new RegExp(`broken\\.yaml:${line}:\\d+.*spec\\.descriptors\\[1\\]\\.rateLimit\\.unit.*fortnight`),
    );
  });
});

function runPlanned(plan: ProgramPlan, changes: Readonly<Record<string, string>>): ReturnType<typeof runCommand> {
  return runCommand(launcher(plan.launcher), { cwd: ROOT, env: { ...plan.env, ...changes } });
}

function versionOfRepository(): string {
  return (JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { version: string }).version;
}
