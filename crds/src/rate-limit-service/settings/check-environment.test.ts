import { describe, expect, it } from "vitest";

import { checkEnvironment } from "./check-environment.ts";
import { fieldOfReserved } from "./reserved-settings.ts";

/** The messages about one variable with the operator's own image, and with another one. */
function messagesOf(name: string): { readonly own: readonly string[]; readonly other: readonly string[] } {
  const env = [
    { name: "LOG_LEVEL", value: "info" },
    { name, value: "" },
  ];
  const format = ({ problems, warnings }: ReturnType<typeof checkEnvironment>): readonly string[] => [
    ...problems.map(({ path, message }) => `refused ${path.join(".")}: ${message}`),
    ...warnings.map(({ path, message }) => `warning ${path.join(".")}: ${message}`),
  ];
  return { own: format(checkEnvironment({ env })), other: format(checkEnvironment({ env, image: "mine:1" })) };
}

describe("checkEnvironment()", () => {
  it.each([
    "CACHE_KEY_PREFIX",
    "LocalCacheSizeInBytes",
    "REDIS_STARTUP_MAX_INTERVAL",
    "TAGGED_STATS_MOGRIFIERS_LATENCY_PATTERN",
    "NODE_EXTRA_CA_CERTS",
    "OTEL_EXPORTER_OTLP_HEADERS",
    "HTTPS_PROXY",
  ])("has nothing to say about %s", (name) => {
    expect(messagesOf(name)).toEqual({ own: [], other: [] });
  });

  it.each([
    { name: "CACHE_KEY_PREFX", message: "unknown setting CACHE_KEY_PREFX; the nearest known one is CACHE_KEY_PREFIX" },
    { name: "log_level", message: "unknown setting log_level; the nearest known one is LOG_LEVEL" },
    {
      name: "SHADOWMODE",
      message: "unknown setting SHADOWMODE; the nearest known one is SHADOW_MODE, which is spec.shadowMode",
    },
  ])("refuses the unknown name $name, unless the image is another one", ({ name, message }) => {
    expect(messagesOf(name)).toEqual({
      own: [`refused spec.env.1.name: ${message}`],
      other: [`warning spec.env.1.name: ${message}`],
    });
  });

  it.each([
    { name: "KVSTORE_URL", message: "KVSTORE_URL is set by the operator: use spec.backend.redis.type" },
    {
      name: "REDIS_PERSECOND_AUTH_FILE",
      message: "REDIS_PERSECOND_AUTH_FILE is set by the operator: use spec.backend.redis.perSecond.auth",
    },
    { name: "USE_STATSD", message: "USE_STATSD is set by the operator: use spec.statistics.push" },
    {
      name: "OTEL_EXPORTER_OTLP_ENDPOINT",
      message: "OTEL_EXPORTER_OTLP_ENDPOINT is set by the operator: use spec.tracing.endpoint",
    },
    { name: "GRPC_PORT", message: "GRPC_PORT is set by the operator, and cannot be changed" },
  ])("refuses $name, which the operator sets, with every image", ({ name, message }) => {
    const refused = [`refused spec.env.1.name: ${message}`];
    expect(messagesOf(name)).toEqual({ own: refused, other: refused });
  });

  it("compares only the first five unknown names, and none that is longer than every known one", () => {
    const env = ["Z".repeat(128), ...Array.from({ length: 6 }, (_, index) => `LOG_LEVEL${index}`)].map((name) => ({
      name,
    }));
    const texts = checkEnvironment({ env }).problems.map(({ message }) => message);
    expect(texts[0]).toBe(`unknown setting ${"Z".repeat(128)}`);
    expect(texts.slice(4)).toEqual([
      "unknown setting LOG_LEVEL3; the nearest known one is LOG_LEVEL",
      "unknown setting LOG_LEVEL4",
      "unknown setting LOG_LEVEL5",
    ]);
  });

  it("warns of a setting of envoyproxy/ratelimit that has no effect", () => {
    const [message] = messagesOf("GOMAXPROCS").own;
    expect(message).toBe(
      "warning spec.env.1.name: GOMAXPROCS has no effect: it tunes the runtime of Go; this service runs on Node.js",
    );
  });
});

describe("reserved settings", () => {
  it("are not every setting", () => {
    expect(fieldOfReserved("LOG_LEVEL")).toBeNull();
  });
});
