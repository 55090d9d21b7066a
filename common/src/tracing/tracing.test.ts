// The tracing settings, and that tracing which is off does nothing.
import { describe, expect, it } from "vitest";

import { silentLog } from "../log/log.ts";
import { EnvReader } from "../settings/read-env.ts";
import { readTracingSettings, startTracing } from "./tracing.ts";

describe("readTracingSettings()", () => {
  it("readTracingSettings() gives the defaults of envoyproxy/ratelimit when nothing is set", () => {
    const read = new EnvReader({});
    expect(readTracingSettings(read, { serviceName: "RateLimit" })).toEqual({
      enabled: false,
      protocol: "http",
      serviceName: "RateLimit",
      serviceNamespace: "",
      serviceInstanceId: undefined,
      samplingRate: 1,
    });
    read.done();
  });

  it("readTracingSettings() gives what is set when all is good", () => {
    const read = new EnvReader({
      TRACING_ENABLED: "true",
      TRACING_EXPORTER_PROTOCOL: "grpc",
      TRACING_SERVICE_NAME: "weir",
      TRACING_SERVICE_NAMESPACE: "edge",
      TRACING_SERVICE_INSTANCE_ID: "pod-7",
      TRACING_SAMPLING_RATE: "0.25",
    });
    expect(readTracingSettings(read, { serviceName: "RateLimit" })).toEqual({
      enabled: true,
      protocol: "grpc",
      serviceName: "weir",
      serviceNamespace: "edge",
      serviceInstanceId: "pod-7",
      samplingRate: 0.25,
    });
    read.done();
  });

  it.each([
    {
      env: { TRACING_EXPORTER_PROTOCOL: "udp" },
      problem: 'TRACING_EXPORTER_PROTOCOL="udp": allowed is one of http, grpc',
    },
    { env: { TRACING_SAMPLING_RATE: "1.5" }, problem: 'TRACING_SAMPLING_RATE="1.5": allowed is a number from 0 to 1' },
  ])("readTracingSettings() refuses $env", ({ env, problem }) => {
    const read = new EnvReader(env);
    readTracingSettings(read, { serviceName: "RateLimit" });
    expect(() => read.done()).toThrow(problem);
  });
});

describe("startTracing()", () => {
  it("startTracing() gives no tracer when tracing is off", async () => {
    const settings = readTracingSettings(new EnvReader({}), { serviceName: "RateLimit" });
    const tracing = await startTracing(settings, { log: silentLog() });
    expect(tracing).toMatchObject({ tracer: undefined, extract: undefined, inject: undefined });
    await expect(tracing.stop()).resolves.toBeUndefined();
  });
});
