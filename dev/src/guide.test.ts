import { describe, expect, it } from "vitest";
import { describeStack, guideSteps } from "./guide.ts";

const PLACE = {
  ports: {
    ads: 18000,
    controlPlaneHttp: 8090,
    rateLimitGrpc: 8081,
    rateLimitHttp: 8080,
    rateLimitDebug: 6070,
    rateLimitMetrics: 9090,
    accountHttp: 8000,
    accountMetrics: 9464,
  },
  sourceDirectory: "examples/limits",
  runDirectory: ".run",
};

describe("describeStack()", () => {
  it("says what runs where", () => {
    const page = describeStack(PLACE).split("\n");
    expect(page.slice(1, 11)).toEqual([
      "Running on this machine",
      "  control plane  manifests        examples/limits",
      "                 status page      http://127.0.0.1:8090/status",
      "                 ADS, mutual TLS  127.0.0.1:18000",
      "  rate limit     gRPC for Envoy   127.0.0.1:8081",
      "                 HTTP             http://127.0.0.1:8080/json",
      "                 rules in force   http://127.0.0.1:6070/rlconfig",
      "                 metrics          http://127.0.0.1:9090/metrics",
      "  account        HTTP             http://localhost:8000/api/v1/user",
      "                 metrics          http://127.0.0.1:9464/metrics",
    ]);
  });
});

describe("guideSteps()", () => {
  it("writes commands that can be pasted as they are", () => {
    const commands = guideSteps(PLACE).flatMap((step) => step.commands);
    expect(commands).toHaveLength(10);
    expect(commands[1]).toBe(
      "node_modules/.bin/weir-client -dial_string 127.0.0.1:8081 -domain api -descriptors plan=gold,user=1815",
    );
    expect(commands[7]).toBe("curl -s -w '\\n' http://localhost:8000/api/v1/user/current-user -b .run/cookies");
  });

  it("quotes a path that a shell would take apart", () => {
    const commands = guideSteps({ ...PLACE, sourceDirectory: "/home/o'neil/my limits" }).flatMap(
      (step) => step.commands,
    );
    expect(commands[2]).toBe(
      "perl -pi -e 's/requestsPerUnit: 2$/requestsPerUnit: 5/' '/home/o'\\''neil/my limits/login-protection.yaml'",
    );
  });
});
