// The sinks that the settings choose, in the service as a process: what arrives where, from the
// first call to the last flush.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Program } from "@weir/harness/processes/start-process";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { openTcpReceiver, openUdpReceiver, type Receiver, valueInLines } from "../statistics/push/receivers.suite.ts";
import { callRateLimit, clearOfMidnight, FREE_PORTS, portOf, startService } from "./started-program.suite.ts";

/** How long a test waits for something to happen, in milliseconds. */
const WAIT = { timeout: 40_000 };

describe("createStatisticsSinks()", () => {
  let folder: string;
  const programs: Program[] = [];
  const receivers: Receiver[] = [];

  beforeEach(async () => {
    await clearOfMidnight();
    folder = await mkdtemp(join(tmpdir(), "weir-sinks-"));
    await mkdir(join(folder, "config"));
    await writeFile(
      join(folder, "config", "rules.yaml"),
      "domain: d\ndescriptors: [{key: 'path_/foo:*:bar', rate_limit: {unit: day, requests_per_unit: 3}}]\n",
    );
  });

  afterEach(async () => {
    for (const program of programs.splice(0)) await program.end();
    for (const receiver of receivers.splice(0)) await receiver.close();
    await rm(folder, { recursive: true, force: true });
  });

  function run(env: Readonly<Record<string, string>>): Program {
    const program = startService(env);
    programs.push(program);
    return program;
  }

  /** The service, once it serves; a flush comes only at its end unless `env` says otherwise. */
  async function serve(env: Readonly<Record<string, string>>): Promise<{ program: Program; port: number }> {
    const program = run({
      ...FREE_PORTS,
      BACKEND_TYPE: "memory",
      RUNTIME_ROOT: folder,
      SHUTDOWN_DRAIN: "0",
      STATS_FLUSH_INTERVAL: "1h",
      ...env,
    });
    await portOf(program, "HTTP"); // The last.
    return { program, port: await portOf(program, "gRPC") };
  }

  async function askOverHttp(program: Program, times: number): Promise<void> {
    const port = await portOf(program, "HTTP");
    const body = JSON.stringify({ domain: "d", descriptors: [{ entries: [{ key: "path_/foo:*:bar", value: "v" }] }] });
    for (let count = 0; count < times; count++) {
      const response = await fetch(`http://127.0.0.1:${port}/json`, { method: "POST", body });
      expect([200, 429]).toContain(response.status);
    }
  }

  async function askFiveTimes(port: number): Promise<void> {
    for (let count = 0; count < 5; count++) await callRateLimit(port, "d", ["path_/foo:*:bar", "v"]);
  }

  async function stop(program: Program): Promise<void> {
    expect(await program.end("SIGTERM")).toBe(0);
  }

  async function received(receiver: Promise<Receiver>): Promise<Receiver> {
    const opened = await receiver;
    receivers.push(opened);
    return opened;
  }

  it("sends to StatsD over TCP by default, everything by the last flush (cases 179, 180, 188)", async () => {
    const receiver = await received(openTcpReceiver());
    const env = { STATSD_HOST: "127.0.0.1", STATSD_PORT: String(receiver.port), EXTRA_TAGS: "foo:bar,a:b" };
    const { program, port } = await serve(env);
    await askFiveTimes(port);
    const debug = /Listening for debug on ([^" ]*)/.exec(program.errors())?.[1] ?? "";
    const page = await (await fetch(`http://${debug}/stats`)).text();
    expect(page).toContain("ratelimit.service.rate_limit.d.path_/foo_*_bar.total_hits.__a=b.__foo=bar: 5\n");
    await stop(program);
    const value = (name: string): number | undefined => valueInLines(receiver.lines, `${name}.__a=b.__foo=bar`);
    expect(value("ratelimit_server.ShouldRateLimit.total_requests")).toBe(5);
    expect(value("ratelimit_server.ShouldRateLimit.response_time")).toBe(5);
    expect(value("ratelimit.service.rate_limit.d.path_/foo_*_bar.total_hits")).toBe(5);
    expect(value("ratelimit.service.rate_limit.d.path_/foo_*_bar.over_limit")).toBe(2);
    expect(value("ratelimit.service.config_load_success")).toBe(1);
    expect([value("runtime.load_attempts"), value("runtime.num_values")]).toEqual([1, 1]);
    expect(value("ratelimit.node.memory_resident_bytes")).toBeGreaterThan(10_000_000);
    expect(value("ratelimit.node.cpu_milliseconds")).toBeGreaterThan(10);
    for (const line of receiver.lines) expect(line).toMatch(/^[^:|]+\.__a=b\.__foo=bar:\d+(?:\.\d{6})?\|(c|g|ms)$/);
  });

  it("sends to StatsD, to DogStatsD and for scraping at the same time (case 186)", async () => {
    const receiver = await received(openUdpReceiver());
    const { program } = await serve({
      USE_PUSHSTATS: "true",
      PUSHSTATS_PROTOCOL: "udp",
      PUSHSTATS_HOST: "127.0.0.1",
      PUSHSTATS_PORT: String(receiver.port),
      STATS_FLUSH_INTERVAL: "100ms",
      USE_DOG_STATSD: "true",
      USE_TAGGED_STATS_MOGRIFIERS: "rule",
      DOG_STATSD_MOGRIFIER_RULE_PATTERN: "^ratelimit\\.service\\.rate_limit\\.([^.]*)\\.(.*)\\.([^.]*)$",
      TAGGED_STATS_MOGRIFIER_RULE_NAME: "ratelimit.service.rate_limit.$3",
      TAGGED_STATS_MOGRIFIERS_RULE_TAGS: "domain:$1,descriptor:$2",
      DD_ENV: "test",
      USE_PULLSTATS: "true",
      PULLSTATS_ADDR: "127.0.0.1:0",
    });
    await askOverHttp(program, 5);
    await expect.poll(() => receiver.lines.join("\n"), WAIT).toMatch(/rate_limit\.over_limit:/);
    // Once plainly and once with tags, by two sinks that flush at times of their own.
    await expect.poll(() => valueInLines(receiver.lines, "ratelimit.service.config_load_success"), WAIT).toBe(2);
    expect(receiver.lines).toEqual(
      expect.arrayContaining([
        "ratelimit.service.config_load_success:1|c",
        "ratelimit.service.config_load_success:1|c|#env:test",
      ]),
    );
    const tags = "|c|#env:test,domain:d,descriptor:path_/foo_*_bar";
    const taggedHits = (): number =>
      receiver.lines
        .filter((line) => line.startsWith("ratelimit.service.rate_limit.total_hits:") && line.endsWith(tags))
        .reduce((sum, line) => sum + Number(/:(\d+)\|c/.exec(line)?.[1]), 0);
    await expect.poll(taggedHits, WAIT).toBe(5);
    const metrics = /Listening for statistics on ([^" ]*)/.exec(program.errors())?.[1] ?? "";
    expect(await (await fetch(`http://${metrics}/metrics`)).text()).toContain(
      "ratelimit_service_config_load_success 1\n",
    );
    await stop(program);
  });

  it("writes to standard output when USE_PUSHSTATS is false and nothing else is on", async () => {
    const { program } = await serve({ USE_PUSHSTATS: "false" });
    await askOverHttp(program, 5);
    await stop(program);
    const lines = program
      .output()
      .split("\n")
      .slice(0, -1)
      .map((line) => JSON.parse(line) as { msg: string; json: unknown });
    expect(lines).toContainEqual(
      expect.objectContaining({
        msg: "flushing counter",
        json: { name: "ratelimit.service.rate_limit.d.path_/foo_*_bar.total_hits", type: "counter", value: "5.000000" },
      }),
    );
    expect(lines.at(-1)).toMatchObject({ msg: "flushing all stats", json: { type: "all stats", value: "0.000000" } });
  });

  it("keeps serving when the reader of standard output has gone", async () => {
    const { program } = await serve({ USE_PUSHSTATS: "false", STATS_FLUSH_INTERVAL: "10ms" });
    program.child.stdout?.destroy();
    await expect.poll(() => program.errors(), WAIT).toContain("Cannot send statistics");
    await askOverHttp(program, 5);
    expect(program.errors().match(/Cannot send statistics/g)).toHaveLength(1);
    await stop(program);
  });

  it("sends, writes and serves nothing when DISABLE_STATS is true", async () => {
    const receiver = await received(openUdpReceiver());
    const env = {
      STATSD_PROTOCOL: "udp",
      STATSD_HOST: "127.0.0.1",
      STATSD_PORT: String(receiver.port),
      STATS_FLUSH_INTERVAL: "10ms",
    };
    const { program } = await serve({ ...env, DISABLE_STATS: "true", USE_TAGGED_STATS: "true", USE_PULLSTATS: "true" });
    await askOverHttp(program, 5);
    await stop(program);
    expect([receiver.lines, program.output()]).toEqual([[], ""]);
    expect(program.errors()).not.toContain("statistics");
  });

  it("says in one line that no server is there, and ends with 0", async () => {
    const receiver = await openTcpReceiver();
    await receiver.close(); // Its port is free now.
    const { program } = await serve({
      STATSD_HOST: "127.0.0.1",
      STATSD_PORT: String(receiver.port),
      STATS_FLUSH_INTERVAL: "10ms",
    });
    await askOverHttp(program, 5);
    await stop(program);
    expect(program.errors().match(/Cannot send statistics/g)).toHaveLength(1);
    expect(program.output()).toBe("");
  });

  it("does not start with mogrifiers that cannot be used, and names every one (case 187)", async () => {
    const program = run({
      USE_TAGGED_STATS: "true",
      TAGGED_STATS_MOGRIFIERS: "A,B",
      TAGGED_STATS_MOGRIFIERS_A_NAME: "a",
      TAGGED_STATS_MOGRIFIERS_B_PATTERN: "(",
      TAGGED_STATS_MOGRIFIERS_B_NAME: "b",
      TAGGED_STATS_MOGRIFIERS_B_TAGS: ":5",
    });
    expect(await program.code).toBe(1);
    expect(program.errors()).toContain("TAGGED_STATS_MOGRIFIERS_A_PATTERN is not set: allowed is a regular expression");
    expect(program.errors()).toContain("(no PATTERN specified for mogrifier A)");
    expect(program.errors()).toContain('TAGGED_STATS_MOGRIFIERS_B_PATTERN="(": allowed is a regular expression');
    expect(program.errors()).toContain(
      'TAGGED_STATS_MOGRIFIERS_B_TAGS=":5": allowed is tags key:value separated by commas',
    );
  });
});
