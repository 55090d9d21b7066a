// Tests of settings.ts.
import { join } from "node:path";

import { everyHost } from "@weir/common/settings/listen-hosts";
import type { SettingProblem, SettingsError } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";

import { describeSettings, parseSettings, type Settings } from "./settings.ts";

type Env = Readonly<Record<string, string>>;

/** No file: not in a pod. */
const OUTSIDE = { namespaceFile: join(import.meta.dirname, "does-not-exist") };

const TLS = { CONTROL_PLANE_TLS_CERT: "tls.crt", CONTROL_PLANE_TLS_KEY: "tls.key", CONTROL_PLANE_TLS_CACERT: "ca.crt" };

function parse(env: Env): Settings {
  return parseSettings(env, OUTSIDE);
}

/** The problems of these settings; empty when they are valid. */
function problemsOf(env: Env): readonly SettingProblem[] {
  try {
    parse(env);
  } catch (error) {
    return (error as SettingsError).problems;
  }
  return [];
}

describe("parseSettings()", () => {
  it("gives the documented defaults", () => {
    expect(parse({})).toMatchObject({
      namespace: "weir-system",
      namespaces: undefined,
      namespaceSelector: undefined,
      http: { host: everyHost(), port: 8091 },
      lease: { name: "weir-operator", durationMs: 15_000, renewDeadlineMs: 10_000, retryPeriodMs: 2000 },
      reconcile: { concurrency: 8, resyncMs: 600_000 },
      controlPlane: {
        service: "weir-control-plane-headless",
        portName: "ads",
        adsService: "weir-control-plane",
        adsPort: 18_000,
        tls: undefined,
      },
      clusterDomain: "cluster.local",
      certificates: "operator",
      webhookService: "weir-operator",
      webhook: undefined,
      image: "weir-ratelimit:latest",
      imagePullSecrets: [],
      monitoring: { labels: {}, interval: undefined, namespaces: [] },
      shutdownGraceMs: 10_000,
      log: { level: "info", format: "text" },
    });
  });

  it.each<{ env: Env; expected: object }>([
    { env: { OPERATOR_NAMESPACE: "limits" }, expected: { namespace: "limits" } },
    { env: { WATCH_NAMESPACES: "shop, web,shop" }, expected: { namespaces: ["shop", "web"] } },
    { env: { WATCH_NAMESPACE_SELECTOR: "limits=on" }, expected: { namespaceSelector: "limits=on" } },
    {
      env: {
        POD_MONITOR_LABELS: "release=prometheus",
        POD_MONITOR_INTERVAL: "1m30s",
        MONITORING_NAMESPACES: "metrics",
      },
      expected: { monitoring: { labels: { release: "prometheus" }, interval: "1m30s", namespaces: ["metrics"] } },
    },
    {
      env: { IMAGE_PULL_SECRETS: "registry, mirror,registry" },
      expected: { imagePullSecrets: ["registry", "mirror"] },
    },
    { env: { CERTIFICATES: "external" }, expected: { certificates: "external" } },
    {
      env: TLS,
      expected: { controlPlane: { tls: { certPath: "tls.crt", keyPath: "tls.key", caPath: "ca.crt" } } },
    },
    {
      env: { ...TLS, WEBHOOK_PORT: "9443" },
      expected: { webhook: { host: everyHost(), port: 9443, tls: { certPath: "tls.crt", keyPath: "tls.key" } } },
    },
    {
      env: { ...TLS, WEBHOOK_PORT: "9443", WEBHOOK_TLS_CERT: "hook.crt", WEBHOOK_TLS_KEY: "hook.key" },
      expected: { webhook: { tls: { certPath: "hook.crt", keyPath: "hook.key" } } },
    },
    { env: { WEBHOOK_TLS_CERT: "hook.crt", WEBHOOK_TLS_KEY: "hook.key" }, expected: { webhook: undefined } },
  ])("reads $env", ({ env, expected }) => {
    expect(parse(env)).toMatchObject(expected);
  });

  it.each<{ env: Env; name: string; allowed: string }>([
    {
      env: { LEASE_DURATION: "10s" },
      name: "LEASE_RENEW_DEADLINE",
      allowed: "less than LEASE_DURATION, which is 10s",
    },
    { env: { LEASE_DURATION: "15500ms" }, name: "LEASE_DURATION", allowed: "a whole number of seconds" },
    {
      env: { LEASE_RETRY_PERIOD: "6s" },
      name: "LEASE_RETRY_PERIOD",
      allowed: "at most half of LEASE_RENEW_DEADLINE, which is 10s",
    },
    {
      env: { WEBHOOK_PORT: "9443" },
      name: "WEBHOOK_TLS_CERT",
      allowed: "the path of a PEM file, because CONTROL_PLANE_TLS_CERT is not set",
    },
    {
      env: { WEBHOOK_TLS_CERT: "hook.crt" },
      name: "WEBHOOK_TLS_KEY",
      allowed: "the path of a PEM file, because WEBHOOK_TLS_CERT is set",
    },
    {
      env: { WATCH_NAMESPACES: "shop", WATCH_NAMESPACE_SELECTOR: "limits=on" },
      name: "WATCH_NAMESPACE_SELECTOR",
      allowed: "nothing, because WATCH_NAMESPACES names the namespaces",
    },
    {
      env: { POD_MONITOR_LABELS: "release=a b" },
      name: "POD_MONITOR_LABELS",
      allowed: "names and values of labels, such as release=prometheus",
    },
    { env: { MONITORING_NAMESPACES: "Prometheus" }, name: "MONITORING_NAMESPACES", allowed: "names of namespaces" },
    {
      env: { POD_MONITOR_INTERVAL: "often" },
      name: "POD_MONITOR_INTERVAL",
      allowed: "a number and a unit, such as 30s or 1m",
    },
    {
      env: { LEASE_NAME: "Weir" },
      name: "LEASE_NAME",
      allowed: "at most 63 lower-case letters, digits and hyphens",
    },
    {
      env: { OPERATOR_NAMESPACE: "weir_system" },
      name: "OPERATOR_NAMESPACE",
      allowed: "at most 63 lower-case letters, digits and hyphens",
    },
  ])("refuses $env because of $name", ({ env, name, allowed }) => {
    expect(problemsOf(env)).toEqual([expect.objectContaining({ name, allowed })]);
  });

  it("names each file of the control plane's TLS that is missing", () => {
    const { CONTROL_PLANE_TLS_CERT } = TLS;
    expect(problemsOf({ CONTROL_PLANE_TLS_CERT }).map(({ name }) => name)).toEqual([
      "CONTROL_PLANE_TLS_KEY",
      "CONTROL_PLANE_TLS_CACERT",
    ]);
  });

  it("reports everything that is wrong together", () => {
    const env = { CERTIFICATES: "none", RECONCILE_CONCURRENCY: "0", RESYNC: "1ms", WATCH_NAMESPACES: "Shop" };
    expect(
      problemsOf(env)
        .map(({ name }) => name)
        .toSorted(),
    ).toEqual(["CERTIFICATES", "RECONCILE_CONCURRENCY", "RESYNC", "WATCH_NAMESPACES"]);
  });
});

describe("describeSettings()", () => {
  it("lists settings with their defaults", () => {
    const rows = describeSettings();
    expect(rows.find(({ names }) => names.includes("LEASE_DURATION"))).toMatchObject({ default: "15s" });
    expect(rows.filter(({ effect }) => effect === "")).toEqual([]);
  });
});
