import { describe, expect, it } from "vitest";
import type { StackPlace } from "./programs.ts";
import { planPrograms } from "./programs.ts";

const PAIR = (name: string): { cert: string; key: string } => ({ cert: `/c/${name}.crt`, key: `/c/${name}.key` });

const PLACE: StackPlace = {
  ports: {
    ads: 1,
    controlPlaneHttp: 2,
    controlPlaneConsole: 9,
    rateLimitGrpc: 3,
    rateLimitHttp: 4,
    rateLimitDebug: 5,
    rateLimitMetrics: 6,
    accountHttp: 7,
    accountMetrics: 8,
  },
  certificates: { ca: PAIR("ca"), controlPlane: PAIR("control-plane"), rateLimit: PAIR("ratelimit"), renewed: [] },
  sourceDirectory: "/limits",
  accountDirectory: "/run/account",
  machine: { PATH: "/bin", HOME: "/root", PORT: "3000", REDIS_URL: "elsewhere", LOG_LEVEL: "debug" },
};

describe("planPrograms()", () => {
  it("gives the programs their own settings and nothing of the person's shell but what every program needs", () => {
    const { controlPlane, rateLimit, account } = planPrograms(PLACE);
    for (const { env } of [controlPlane, rateLimit, account]) {
      expect(env).toMatchObject({ PATH: "/bin", HOME: "/root", LOG_LEVEL: "info" });
      expect(env).not.toHaveProperty("REDIS_URL");
    }
    expect([controlPlane.env["PORT"], rateLimit.env["PORT"], account.env["PORT"]]).toEqual([undefined, "4", "7"]);
  });

  it("connects the pod to the control plane by mutual TLS", () => {
    const { controlPlane, rateLimit } = planPrograms(PLACE);
    expect(controlPlane.env).toMatchObject({
      ADS_PORT: "1",
      ADS_TLS_CERT: "/c/control-plane.crt",
      ADS_TLS_KEY: "/c/control-plane.key",
      ADS_TLS_CLIENT_CACERT: "/c/ca.crt",
      ADS_ALLOWED_SANS: "ratelimit.weir.local",
    });
    expect(rateLimit.env).toMatchObject({
      CONFIG_TYPE: "GRPC_XDS_SOTW",
      CONFIG_GRPC_XDS_SERVER_URL: "localhost:1",
      CONFIG_GRPC_XDS_SERVER_USE_TLS: "true",
      CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "/c/ca.crt",
      CONFIG_GRPC_XDS_CLIENT_TLS_CERT: "/c/ratelimit.crt",
      CONFIG_GRPC_XDS_CLIENT_TLS_KEY: "/c/ratelimit.key",
    });
  });

  it("lets the account service ask the stack's own rate limit service", () => {
    const { rateLimit, account } = planPrograms(PLACE);
    expect([rateLimit.env["GRPC_PORT"], account.env["RATE_LIMIT_GRPC"]]).toEqual(["3", "127.0.0.1:3"]);
  });

  it("lets the account service wait for that on a busy machine, and count nothing itself", () => {
    expect(planPrograms(PLACE).account.env["RATE_LIMIT_TIMEOUT"]).toBe("2s");
  });

  it("lets a login that one limit refuses not use up the other limits of the account", () => {
    expect(planPrograms(PLACE).rateLimit.env["STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT"]).toBe("true");
  });

  it("lets everything listen on this machine only", () => {
    const { controlPlane, rateLimit, account } = planPrograms(PLACE);
    const hosts = [controlPlane, rateLimit, account].flatMap(({ env }) =>
      Object.entries(env).filter(([name]) => /(^|_)HOST$|_ADDR$/.test(name)),
    );
    expect(hosts).toEqual([
      ["ADS_HOST", "127.0.0.1"],
      ["HTTP_HOST", "127.0.0.1"],
      ["HOST", "127.0.0.1"],
      ["GRPC_HOST", "127.0.0.1"],
      ["DEBUG_HOST", "127.0.0.1"],
      ["PULLSTATS_ADDR", "127.0.0.1:6"],
      ["HOST", "127.0.0.1"],
      ["METRICS_HOST", "127.0.0.1"],
    ]);
  });
});
