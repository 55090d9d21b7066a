// The account service behind the real chain: the manifest of the examples, the control plane, a rate
// limit pod, and floods of logins. The programs are wired as `make run` wires them.
import { cpSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { SAMPLE_AVATAR } from "@weir/dev/output/guide";
import type { ProcessGroup } from "@weir/dev/processes/process-group";
import { ensureCertificates } from "@weir/dev/setup/certificates";
import { STACK_HOST } from "@weir/dev/setup/ports";
import { planPrograms } from "@weir/dev/setup/programs";
import { eventually } from "@weir/harness/processes/eventually";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { anyPorts, ROOT, startPlanned } from "@weir/harness/processes/programs";

const PERSON = { email: "grace@example.com", password: "nanoseconds of wire" };

/** How long a program may take to stop, in milliseconds. */
const STOP_GRACE_MS = 10_000;

describe("the account service behind the rate limit service", () => {
  const folder = makeTemporaryFolder();
  const programs: ProcessGroup[] = [];
  let plans: ReturnType<typeof planPrograms>;
  let rateLimit: ProcessGroup;
  let userUrl: string;
  let metricsUrl: string;
  let debugUrl: string;

  beforeAll(async () => {
    const manifests = join(folder.path, "limits");
    cpSync(join(ROOT, "examples", "limits", "account.yaml"), join(manifests, "account.yaml"));
    writeFileSync(join(folder.path, "avatar.png"), SAMPLE_AVATAR);
    const ports = await anyPorts();
    const certificates = await ensureCertificates(join(folder.path, "certificates"), {
      hostNames: ["localhost", STACK_HOST],
      now: new Date(),
    });
    const accountDirectory = join(folder.path, "account");
    plans = planPrograms({ ports, certificates, sourceDirectory: manifests, accountDirectory, machine: process.env });
    userUrl = `http://${STACK_HOST}:${ports.accountHttp}/api/v1/user`;
    metricsUrl = `http://${STACK_HOST}:${ports.accountMetrics}/metrics`;
    debugUrl = `http://${STACK_HOST}:${ports.rateLimitDebug}/rlconfig`;
    programs.push(await startPlanned(plans.controlPlane));
    rateLimit = await startPlanned(plans.rateLimit);
    programs.push(rateLimit);
    // Each attempt comes from an address of its choice, as if through a proxy; hashes are quick, so that
    // the test is. Four hashes run and one address may have 16 that wait: all that its limit lets through.
    const hashes = { BCRYPT_COST: "4", BCRYPT_CONCURRENCY: "4" };
    const env = { ...plans.account.env, ...hashes, TRUST_PROXY: "1", RATE_LIMIT_TIMEOUT: "2s" };
    programs.push(await startPlanned({ ...plans.account, env }));
    const form = new FormData();
    for (const [name, value] of Object.entries(PERSON)) form.append(name, value);
    form.append("avatar", new Blob([new Uint8Array(SAMPLE_AVATAR)]), "avatar.png");
    const registered = await fetch(`${userUrl}/register`, { method: "POST", body: form });
    expect(registered.status).toBe(201);
  });

  afterAll(async () => {
    for (const program of programs.toReversed()) await program.stop("SIGTERM", STOP_GRACE_MS);
    folder.remove();
  });

  it("has the limits that the account service asks for", async () => {
    const lines = (await (await fetch(debugUrl)).text()).trim().split("\n").toSorted();
    expect(lines.map((line) => line.replace(/, shadow_mode.*/, ""))).toEqual([
      "account.route_login.account: unit=HOUR requests_per_unit=100",
      "account.route_login.account_ip: unit=MINUTE requests_per_unit=5",
      "account.route_login.device: unit=HOUR requests_per_unit=100",
      "account.route_login.ip: unit=MINUTE requests_per_unit=20",
      "account.route_refresh.ip: unit=MINUTE requests_per_unit=60",
      "account.route_register.ip: unit=MINUTE requests_per_unit=5",
      "account.route_register.ip_day: unit=DAY requests_per_unit=50",
    ]);
  });

  it("stops the sixth login of a minute, with the correct password and for unknown accounts alike", async () => {
    await startOfMinute();
    const wrong = { ...PERSON, password: "guess" };
    expect(await statusesOf(6, wrong, "203.0.113.1")).toEqual([401, 401, 401, 401, 401, 429]);
    const refused = await logIn(PERSON, "203.0.113.1");
    expect(refused.status).toBe(429);
    const retryAfter = Number(refused.headers.get("retry-after"));
    expect(retryAfter).toBeGreaterThan(0);
    expect(retryAfter).toBeLessThanOrEqual(60);
    expect(await refused.json()).toMatchObject({ code: "rate_limited", errors: [] });
    const unknown = { email: "unknown@example.com", password: "guess" };
    expect(await statusesOf(6, unknown, "203.0.113.2")).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await statusesOf(1, PERSON, "203.0.113.3")).toEqual([200]);
    expect(await metricOf('ratelimit_decisions_total{route="login",decided_by="local",decision="allowed"}')).toBe(0);
    expect(await metricOf('ratelimit_errors_total{reason="deadline"}')).toBe(0);
  });

  it("stops a storm of logins from one address, whatever accounts it names", async () => {
    await startOfMinute();
    const storm = Array.from({ length: 200 }, (_, account) =>
      logIn({ email: `person-${account}@example.com`, password: "guess" }, "203.0.113.4").then(({ status }) => status),
    );
    const statuses = await Promise.all(storm);
    expect(statuses.toSorted()).toEqual([...Array<number>(20).fill(401), ...Array<number>(180).fill(429)]);
    expect(await statusesOf(1, PERSON, "203.0.113.5")).toEqual([200]);
  });

  it("still stops the sixth login while the rate limit service is gone, and asks it again when it is back", async () => {
    rateLimit.kill();
    await rateLimit.exited;
    await startOfMinute();
    const wrong = { ...PERSON, password: "guess" };
    expect(await statusesOf(6, wrong, "203.0.113.6")).toEqual([401, 401, 401, 401, 401, 429]);
    expect(await metricOf('ratelimit_errors_total{reason="unavailable"}')).toBeGreaterThan(0);
    expect(await metricOf('ratelimit_decisions_total{route="login",decided_by="local",decision="denied"}')).toBe(1);
    programs.push(await startPlanned(plans.rateLimit));
    const byService = 'ratelimit_decisions_total{route="refresh",decided_by="service",decision="allowed"}';
    await eventually("the service to decide", async () => {
      await fetch(`${userUrl}/refresh-token`, { method: "POST" });
      expect(await metricOf(byService)).toBeGreaterThan(0);
    });
  });

  function logIn(body: object, from: string): Promise<Response> {
    const headers = { "Content-Type": "application/json", "X-Forwarded-For": from };
    return fetch(`${userUrl}/login`, { method: "POST", headers, body: JSON.stringify(body) });
  }

  async function statusesOf(times: number, body: object, from: string): Promise<number[]> {
    const statuses: number[] = [];
    for (let attempt = 0; attempt < times; attempt++) statuses.push((await logIn(body, from)).status);
    return statuses;
  }

  async function metricOf(series: string): Promise<number> {
    const line = (await (await fetch(metricsUrl)).text()).split("\n").find((each) => each.startsWith(series));
    return Number(line?.slice(series.length) ?? NaN);
  }
});

/** Waits until a minute has half its time left, so that no window ends during the attempts of a test. */
async function startOfMinute(): Promise<void> {
  await eventually("the next minute", () => expect((Date.now() / 1000) % 60).toBeLessThan(35));
}
