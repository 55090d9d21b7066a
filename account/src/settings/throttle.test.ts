import { EnvReader, type Env, SettingsError } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";
import { readThrottle } from "./throttle.ts";
import type { ThrottleSettings } from "../throttle/create-throttle.ts";
import { LIMITS } from "../throttle/limits.ts";

function read(env: Env): { readonly settings: ThrottleSettings; readonly warnings: readonly string[] } {
  const reader = new EnvReader(env);
  const warnings: string[] = [];
  const settings = readThrottle(reader, warnings);
  reader.done();
  return { settings, warnings };
}

function problemsOf(env: Env): readonly string[] {
  try {
    read(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map(({ name, allowed }) => `${name}: ${allowed}`);
    throw error;
  }
  return [];
}

const SERVICE = { RATE_LIMIT_GRPC: "ratelimit:8081" };

describe("readThrottle()", () => {
  it("limits in this process when nothing is set", () => {
    expect(read({})).toEqual({ settings: { service: undefined, failure: "local", limits: LIMITS }, warnings: [] });
  });

  it("asks a service with a deadline of 50 ms and the domain account", () => {
    expect(read(SERVICE).settings).toEqual({
      service: { target: "ratelimit:8081", domain: "account", timeoutMs: 50, tls: undefined },
      failure: "local",
      limits: LIMITS,
    });
  });

  it("changes limits of this process, and no others", () => {
    const { limits } = read({ RATE_LIMIT_LOCAL: "login.ip=50/hour,refresh.session=7/second" }).settings;
    expect(limits).toEqual({
      ...LIMITS,
      login: { ...LIMITS.login, ip: { requests: 50, windowSeconds: 3600 } },
      refresh: { ...LIMITS.refresh, session: { requests: 7, windowSeconds: 1 } },
    });
  });

  it.each([
    "login.ip",
    "login.ip=0/minute",
    "login.ip=5/week",
    "login.session=5/minute",
    "logout.ip=5/minute",
    "x=1/day",
  ])("refuses the limit %s", (entry) => {
    expect(problemsOf({ RATE_LIMIT_LOCAL: `register.ip=5/minute,${entry}` })).toEqual([
      expect.stringMatching(
        /^RATE_LIMIT_LOCAL: route\.key=requests\/unit such as login\.ip=20\/minute, of register\.ip=5\/minute,/,
      ),
    ]);
  });

  it("takes every setting of the service", () => {
    const env = {
      RATE_LIMIT_GRPC: "[2001:db8::1]:8081",
      RATE_LIMIT_DOMAIN: "people",
      RATE_LIMIT_TIMEOUT: "1s",
      RATE_LIMIT_FAILURE: "closed",
      RATE_LIMIT_TLS: "true",
      RATE_LIMIT_TLS_CACERT: "/ca.pem",
      RATE_LIMIT_TLS_CLIENT_CERT: "/cert.pem",
      RATE_LIMIT_TLS_CLIENT_KEY: "/key.pem",
      RATE_LIMIT_TLS_SERVER_NAME: "ratelimit.example",
    };
    expect(read(env).settings).toEqual({
      service: {
        target: "[2001:db8::1]:8081",
        domain: "people",
        timeoutMs: 1000,
        tls: {
          paths: { caPath: "/ca.pem", certPath: "/cert.pem", keyPath: "/key.pem" },
          serverName: "ratelimit.example",
        },
      },
      failure: "closed",
      limits: LIMITS,
    });
  });

  it.each(["ratelimit:8081", "127.0.0.1:8081", "[::1]:8081", "rate-limit.weir.svc.cluster.local:8081", "unix:/run/rl"])(
    "takes the target %s",
    (target) => {
      expect(problemsOf({ RATE_LIMIT_GRPC: target })).toEqual([]);
    },
  );

  it.each(["ratelimit", "http://ratelimit:8081", "ratelimit:grpc", "::1:8081", "dns:///ratelimit:8081", "a b:1"])(
    "refuses the target %s",
    (target) => {
      expect(problemsOf({ RATE_LIMIT_GRPC: target })).toEqual([
        "RATE_LIMIT_GRPC: host:port, [address]:port or unix:/path of a gRPC listener",
      ]);
    },
  );

  it.each([
    {
      env: { RATE_LIMIT_FAILURE: "closed" },
      problem: "RATE_LIMIT_FAILURE: local or open, because RATE_LIMIT_GRPC is not set",
    },
    { env: { RATE_LIMIT_TLS: "true" }, problem: "RATE_LIMIT_TLS: set only together with RATE_LIMIT_GRPC" },
    {
      env: { ...SERVICE, RATE_LIMIT_TLS_CACERT: "/ca.pem" },
      problem: "RATE_LIMIT_TLS_CACERT: set only together with RATE_LIMIT_TLS=true",
    },
    {
      env: { ...SERVICE, RATE_LIMIT_TLS: "true", RATE_LIMIT_TLS_CLIENT_CERT: "/cert.pem" },
      problem: "RATE_LIMIT_TLS_CLIENT_KEY: the path of a file: certificate and key are given together or not at all",
    },
    {
      env: { ...SERVICE, RATE_LIMIT_TIMEOUT: "0s" },
      problem: "RATE_LIMIT_TIMEOUT: a duration such as 500ms, 10s or 1h30m from 1ms to 10s",
    },
  ])("names what is wrong with $env", ({ env, problem }) => {
    expect(problemsOf(env)).toEqual([problem]);
  });

  it("warns when nothing limits", () => {
    expect(read({ RATE_LIMIT_FAILURE: "open" }).warnings).toEqual([
      "RATE_LIMIT_FAILURE=open without RATE_LIMIT_GRPC lets everyone guess passwords without a limit",
    ]);
    expect(read({ ...SERVICE, RATE_LIMIT_FAILURE: "open" }).warnings).toEqual([]);
  });
});
