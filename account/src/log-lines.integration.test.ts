// Tests that the log, the metrics and the spans of a whole run of calls show which network the calls came
// from and how they ended, and nothing personal.
import { setTimeout as sleep } from "node:timers/promises";
import { startOtlpReceiver } from "@weir/harness/servers/otlp-receiver.suite";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  cookieHeader,
  cookieValue,
  findPersonal,
  type RunningService,
  startService,
  USER,
} from "./running-service.suite.ts";

const WRONG = "a-wrong-guess-of-it";

let service: RunningService;

afterEach(async () => {
  await service.stop();
  vi.unstubAllEnvs();
});

function linesOf(message: string): readonly Record<string, unknown>[] {
  return service.logLines
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .filter((line) => line["@message"] === message);
}

function post(name: string, headers: Readonly<Record<string, string>>): ReturnType<RunningService["call"]> {
  return service.call({ method: "POST", path: `/api/v1/user/${name}`, headers });
}

/** Every kind of call, with and without success; gives all that the log must not have. */
async function runCalls(): Promise<ReadonlySet<string>> {
  await service.register();
  await service.register();
  await service.register({ ...USER, email: "not an address", password: "short77" });
  await service.login({ ...USER, password: WRONG });
  await service.login({ email: "unknown@x.com", password: WRONG });
  await service.login(`{"email":"a@x.com","password":"${WRONG}`);
  await service.login(USER, { "Sec-Fetch-Site": "cross-site", Origin: "https://evil.example" });
  const first = cookieHeader(await service.login());
  const second = cookieHeader(await service.login(USER, { Cookie: first }));
  await service.call({ path: "/api/v1/user/current-user", headers: { Cookie: second } });
  await service.call({ path: `/api/v1/user/current-user?token=${cookieValue(second, "__Host-accessToken")}` });
  await service.call({ path: "/a@x.com/eyJhbGciOiJub25lIn0" });
  await post("refresh-token", { Cookie: first });
  const refreshed = await post("refresh-token", { Cookie: second });
  await post("refresh-token", { Cookie: "__Host-refreshToken=eyJhbGciOiJub25lIn0.e30." });
  await post("logout", { Cookie: `${second}; ${cookieHeader(refreshed)}` });
  await post("logout", { Cookie: second });
  const tokens = [first, second, cookieHeader(refreshed)].flatMap((header) => header.split(/[=;]/));
  return new Set([USER.password, WRONG, "short77", ...tokens.filter((text) => text.length > 20)]);
}

describe("a whole run of calls", () => {
  it("leaves lines with the address prefix, and nothing personal in log and metrics", async () => {
    service = await startService();
    const secrets = await runCalls();
    for (const message of [
      "User registered",
      "Login refused",
      "Login accepted",
      "Logged out",
      "Cross-site call refused",
    ]) {
      expect(linesOf(message).length, message).toBeGreaterThan(0);
      for (const line of linesOf(message)) expect(line["addressPrefix"], message).toBe("127.0.0.1");
    }
    findPersonal(service.logLines, secrets);
    const metrics = await (await fetch(`${service.metricsUrl}/metrics`)).text();
    findPersonal(metrics.split("\n"), secrets);
    expect(metrics).toContain('login_total{result="success"} 2');
    expect(metrics).toContain('login_total{result="invalid_credentials"} 2');
    expect(metrics).toContain('login_total{result="invalid"} 2');
  });

  it("leaves spans that continue the trace of the caller, and nothing personal in them", async () => {
    const receiver = await startOtlpReceiver();
    try {
      vi.stubEnv("OTEL_EXPORTER_OTLP_ENDPOINT", receiver.endpoint("http"));
      service = await startService({ TRACING_ENABLED: "true" });
      const secrets = await runCalls();
      const trace = "4bf92f3577b34da6a3ce929d0e0e4736";
      await service.call({
        path: "/api/v1/user/current-user",
        headers: { traceparent: `00-${trace}-00f067aa0ba902b7-01` },
      });
      await service.restart(); // The stop exports the last spans.
      while (!receiver.spans().some(({ traceId }) => traceId === trace)) await sleep(50);
      const spans = receiver.spans();
      expect(spans.find(({ traceId }) => traceId === trace)).toMatchObject({
        name: "GET /api/v1/user/current-user",
        kind: 2,
        parentSpanId: "00f067aa0ba902b7",
        attributes: {
          "http.request.method": "GET",
          "http.route": "/api/v1/user/current-user",
          "error.type": "not_authenticated",
        },
        status: { code: 0 }, // A refusal is no fault of the service.
      });
      expect(new Set(spans.map(({ name }) => name))).toContain("POST /api/v1/user/login");
      findPersonal(
        spans.map((span) => JSON.stringify(span)),
        secrets,
      );
    } finally {
      await receiver.stop();
    }
  });
});
