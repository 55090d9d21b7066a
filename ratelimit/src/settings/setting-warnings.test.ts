// Warnings about variables without effect, and about no other variables.
import { describe, expect, it } from "vitest";

import { describeSettings } from "../settings.ts";
import { findSettingWarnings, SETTINGS_WITHOUT_EFFECT } from "./setting-warnings.ts";

function warningsOf(...names: readonly string[]): readonly string[] {
  const env = Object.fromEntries(names.map((name) => [name, "x"]));
  return findSettingWarnings(env, describeSettings(), "kvstore").map(({ name, reason }) => `${name}: ${reason}`);
}

describe("findSettingWarnings()", () => {
  it("findSettingWarnings() gives the reason when a setting of envoyproxy/ratelimit has no effect", () => {
    expect(warningsOf("GOMEMLIMIT", "REDIS_POOL_ON_EMPTY_WAIT_DURATION")).toEqual([
      "GOMEMLIMIT: it tunes the runtime of Go; this service runs on Node.js",
      "REDIS_POOL_ON_EMPTY_WAIT_DURATION: connections are shared, so a call never waits for one; KVSTORE_TIMEOUT bounds the wait for a connection",
    ]);
  });

  it.each([
    { name: "REDIS_POOLSIZE", meant: "REDIS_POOL_SIZE" },
    { name: "REDIS_TSL_CACERT", meant: "REDIS_TLS_CACERT" },
    { name: "KVSTORE_PERSECOND_SOCKETTYP", meant: "KVSTORE_PERSECOND_SOCKET_TYPE" },
    { name: "RUNTIME_ROOTS", meant: "RUNTIME_ROOT" },
    { name: "LIMIT_RESPONSE_HEADER_ENABLED", meant: "LIMIT_RESPONSE_HEADERS_ENABLED" },
    { name: "REDIS_AUTH_FIL", meant: "REDIS_AUTH_FILE" },
  ])("findSettingWarnings() asks whether $meant is meant by $name", ({ name, meant }) => {
    expect(warningsOf(name)).toEqual([`${name}: unknown setting; is ${meant} meant?`]);
  });

  it("findSettingWarnings() is silent about settings under every name, about files of secrets, and about empty variables", () => {
    const names = describeSettings().flatMap((row) => row.names);
    expect(warningsOf(...names, "REDIS_URL_FILE", "KVSTORE_AUTH_FILE")).toEqual([]);
    expect(findSettingWarnings({ GOGC: "", REDIS_POOLSIZE: undefined }, describeSettings(), "kvstore")).toEqual([]);
  });

  it("findSettingWarnings() is silent about variables of others", () => {
    const others = [
      "PATH",
      "HOME",
      "HOSTNAME",
      "REDIS_PASSWORD",
      "REDIS_HOST",
      "REDIS_PORT",
      "REDIS_SERVICE_HOST",
      "REDIS_PORT_6379_TCP",
    ];
    expect(
      warningsOf(
        ...others,
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        "DD_AGENT_HOST",
        "KUBERNETES_SERVICE_HOST",
        "NODE_OPTIONS",
        "STATSD_SERVICE_PORT",
      ),
    ).toEqual([]);
  });

  it("findSettingWarnings() of an earlier image is silent about the setting that the operator adds for later ones", () => {
    const name = "CONFIG_GRPC_XDS_DELTA";
    const earlier = describeSettings().filter(({ names }) => !names.includes(name));
    expect(earlier.length).toBe(describeSettings().length - 1);
    expect(findSettingWarnings({ [name]: "true" }, earlier, "kvstore")).toEqual([]);
  });

  it("findSettingWarnings() reports a setting without effect with the selected backend", () => {
    const env = { STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT: "true" };
    expect(findSettingWarnings(env, describeSettings(), "altstore").map(({ name }) => name)).toEqual([
      "STOP_CACHE_KEY_INCREMENT_WHEN_OVERLIMIT",
    ]);
    expect(findSettingWarnings(env, describeSettings(), "kvstore")).toEqual([]);
    expect(findSettingWarnings(env, describeSettings(), "memory")).toEqual([]);
  });

  it("findSettingWarnings() lists no setting that has an effect", () => {
    const names = new Set(describeSettings().flatMap((row) => row.names));
    expect(SETTINGS_WITHOUT_EFFECT.filter(({ name }) => names.has(name))).toEqual([]);
  });
});
