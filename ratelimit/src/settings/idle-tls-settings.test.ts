// Warnings about TLS files while TLS is off.
import { describe, expect, it } from "vitest";
import { describeSettings } from "../settings.ts";
import { findSettingWarnings } from "./setting-warnings.ts";

function warningsOf(env: Readonly<Record<string, string>>, backend = "kvstore"): readonly string[] {
  return findSettingWarnings(env, describeSettings(), backend).map(({ name, reason }) => `${name}: ${reason}`);
}

const XDS = { CONFIG_TYPE: "GRPC_XDS_SOTW", CONFIG_GRPC_XDS_SERVER_TLS_CACERT: "/ca.pem" };

describe("findIdleTlsReason()", () => {
  it.each<[env: Record<string, string>, backend: string, warnings: string[]]>([
    [
      { GRPC_CLIENT_TLS_CACERT: "/ca.pem" },
      "memory",
      ["GRPC_CLIENT_TLS_CACERT: TLS is off there; GRPC_SERVER_USE_TLS=true turns it on"],
    ],
    [
      { GRPC_SERVER_USE_TLS: "false", GRPC_SERVER_TLS_CERT: "/c.pem", GRPC_SERVER_TLS_KEY: "/k.pem" },
      "memory",
      [
        "GRPC_SERVER_TLS_CERT: TLS is off there; GRPC_SERVER_USE_TLS=true turns it on",
        "GRPC_SERVER_TLS_KEY: TLS is off there; GRPC_SERVER_USE_TLS=true turns it on",
      ],
    ],
    [{ REDIS_TLS_CACERT: "/ca.pem" }, "kvstore", ["REDIS_TLS_CACERT: TLS is off there; REDIS_TLS=true turns it on"]],
    [
      { KVSTORE_TLS: "0", KVSTORE_TLS_CACERT: "/c" },
      "kvstore",
      ["KVSTORE_TLS_CACERT: TLS is off there; KVSTORE_TLS=true turns it on"],
    ],
    [
      { MEMCACHE_TLS_CACERT: "/ca.pem" },
      "altstore",
      ["MEMCACHE_TLS_CACERT: TLS is off there; MEMCACHE_TLS=true turns it on"],
    ],
    [
      { ...XDS, CONFIG_GRPC_XDS_SERVER_USE_TLS: "f" },
      "memory",
      ["CONFIG_GRPC_XDS_SERVER_TLS_CACERT: TLS is off there; CONFIG_GRPC_XDS_SERVER_USE_TLS=true turns it on"],
    ],
  ])("findIdleTlsReason() reports %j with %s", (env, backend, warnings) => {
    expect(warningsOf(env, backend)).toEqual(warnings);
  });

  it.each<[env: Record<string, string>, backend: string]>([
    [{ GRPC_SERVER_USE_TLS: "true", GRPC_SERVER_TLS_CERT: "/c.pem" }, "memory"],
    [{ REDIS_PERSECOND_TLS: "true", REDIS_TLS_CACERT: "/ca.pem" }, "kvstore"],
    [{ REDIS_TLS: "T", KVSTORE_TLS_CACERT: "/ca.pem" }, "kvstore"],
    [{ REDIS_TLS_SKIP_HOSTNAME_VERIFICATION: "false" }, "kvstore"],
    [{ REDIS_TLS_CACERT: "/ca.pem" }, "memory"],
    [XDS, "memory"],
    [{ ...XDS, CONFIG_TYPE: "FILE", CONFIG_GRPC_XDS_SERVER_USE_TLS: "false" }, "memory"],
  ])("findIdleTlsReason() is silent about %j with %s", (env, backend) => {
    expect(warningsOf(env, backend)).toEqual([]);
  });
});
