import { describe, expect, it } from "vitest";
import { describeStackSettings, parseStackSettings } from "./settings.ts";

describe("parseStackSettings()", () => {
  it("gives the documented defaults when nothing is set", () => {
    expect(parseStackSettings({})).toEqual({
      ports: {
        ads: 18000,
        controlPlaneHttp: 8090,
        controlPlaneConsole: 8092,
        rateLimitGrpc: 8081,
        rateLimitHttp: 8080,
        rateLimitDebug: 6070,
        rateLimitMetrics: 9090,
        accountHttp: 8000,
        accountMetrics: 9464,
      },
      sourceDirectory: "examples/limits",
      runDirectory: ".run",
    });
  });

  it("moves every port by its own setting", () => {
    const env = {
      ADS_PORT: "1",
      HTTP_PORT: "2",
      GRPC_PORT: "3",
      PORT: "4",
      DEBUG_PORT: "5",
      PULLSTATS_ADDR: ":6",
      ACCOUNT_PORT: "7",
      METRICS_PORT: "8",
      CONSOLE_PORT: "9",
    };
    expect(Object.values(parseStackSettings(env).ports)).toEqual([1, 2, 9, 3, 4, 5, 6, 7, 8]);
  });

  it("names every bad port in one error", () => {
    expect(() => parseStackSettings({ PORT: "eighty", PULLSTATS_ADDR: "0.0.0.0:9090", GRPC_PORT: "65536" })).toThrow(
      /(?=.*\bPORT\b)(?=.*PULLSTATS_ADDR)(?=.*GRPC_PORT)/s,
    );
  });
});

describe("describeStackSettings()", () => {
  it("names every setting with its default", () => {
    expect(describeStackSettings().map(({ names, default: value }) => `${names[0] ?? ""}=${value}`)).toEqual([
      "ADS_PORT=18000",
      "HTTP_PORT=8090",
      "CONSOLE_PORT=8092",
      "GRPC_PORT=8081",
      "PORT=8080",
      "DEBUG_PORT=6070",
      "PULLSTATS_ADDR=:9090",
      "ACCOUNT_PORT=8000",
      "METRICS_PORT=9464",
      "SOURCE_DIRECTORY=examples/limits",
      "RUN_DIRECTORY=.run",
    ]);
  });
});
