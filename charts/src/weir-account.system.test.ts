// The chart weir-account: what it refuses, and that it agrees with the service and its limits.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fieldsOf } from "@weir/kubernetes/mapping";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { CHARTS } from "@weir/harness/helm/helm";
import { renderChart, renderYaml } from "@weir/harness/helm/render";

const ORIGIN = { publicOrigin: "https://account.example.com" };
const MONGO = { store: { type: "mongo", mongo: { existingSecret: "m" } } };

describe("the chart weir-account", () => {
  it.each([
    {
      what: "two replicas with the embedded store",
      values: { ...ORIGIN, replicas: 2 },
      message: "Cannot run 2 replicas with the embedded store",
    },
    {
      what: "two replicas with local media",
      values: { ...ORIGIN, ...MONGO, replicas: 2 },
      message: "Cannot run 2 replicas with local media",
    },
    { what: "local media without an origin", values: {}, message: "publicOrigin must be set" },
    { what: "MongoDB without its Secret", values: { ...ORIGIN, store: { type: "mongo" } }, message: "existingSecret" },
    { what: "S3 without a bucket", values: { media: { type: "s3" } }, message: "media.s3.bucket must be set" },
    {
      what: "a bucket without the URL for browsers",
      values: { media: { type: "s3", s3: { bucket: "avatars", endpoint: "http://minio:9000" } } },
      message: "media.publicUrl must be set",
    },
    {
      what: "closed without a rate limit service",
      values: { ...ORIGIN, rateLimit: { failure: "closed" } },
      message: "rateLimit.failure must be local or open",
    },
    {
      what: "half a client certificate",
      values: { ...ORIGIN, rateLimit: { address: "a:1", tls: { enabled: true, certKey: "tls.crt" } } },
      message: "rateLimit.tls.certKey and rateLimit.tls.keyKey",
    },
    {
      what: "an authority of clients without TLS",
      values: { ...ORIGIN, tls: { clientCaKey: "ca.crt" } },
      message: "tls.clientCaKey needs tls.existingSecret",
    },
    { what: "an Ingress without a host", values: { ...ORIGIN, ingress: { enabled: true } }, message: "ingress.hosts" },
    { what: "a route without a Gateway", values: { ...ORIGIN, httpRoute: { enabled: true } }, message: "parentRefs" },
    {
      what: "a typing error",
      values: { ...ORIGIN, rateLimit: { adress: "a:1" } },
      message: "at '/rateLimit': additional properties 'adress' not allowed",
    },
    {
      what: "an unknown setting",
      values: { ...ORIGIN, settings: { MAX_SESSION: "3" } },
      message: "at '/settings': additional properties 'MAX_SESSION' not allowed",
    },
    {
      what: "a setting that has a value",
      values: { ...ORIGIN, settings: { TRUST_PROXY: "1" } },
      message: "Cannot set settings.TRUST_PROXY: trustProxy decides it",
    },
    {
      what: "the URL of the mail server, which has a password",
      values: { ...ORIGIN, settings: { SMTP_URL: "smtps://u:p@mail.example.com" } },
      message: "Cannot set settings.SMTP_URL: it is a secret; mail.existingSecret names the Secret with it",
    },
    {
      what: "a setting that the chart's Services depend on",
      values: { ...ORIGIN, settings: { METRICS_PORT: "9000" } },
      message: "Cannot set settings.METRICS_PORT: Services, probes and volumes of the chart depend on it",
    },
    {
      what: "an Ingress for all hosts, by accident",
      values: { ingress: { enabled: true, hosts: [""] } },
      message: "at '/ingress/hosts/0'",
    },
    {
      what: "a name that no Service can have",
      values: { ...ORIGIN, fullnameOverride: "2024" },
      message: `Cannot name a Service "2024"`,
    },
    { what: "an address without a port", values: { ...ORIGIN, rateLimit: { address: "a" } }, message: "'/rateLimit/a" },
  ])("refuses $what", async ({ values, message }) => {
    await expect(renderChart({ chart: "weir-account", values })).rejects.toThrow(message);
  });

  it("has by default the limits of examples/limits/account.yaml", async () => {
    const values = { ...ORIGIN, rateLimit: { address: "limits:8081" } };
    const chart = await renderChart({ chart: "weir-account", values });
    const example = readFileSync(join(CHARTS, "..", "examples/limits/account.yaml"), "utf8");
    expect(chart.only("RateLimitConfig")["spec"]).toEqual(fieldsOf(parse(example))["spec"]);
  });

  it("lets pods resolve names, whatever egress the values name", async () => {
    const networkPolicy = { enabled: true, egress: [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }] };
    const chart = await renderChart({ chart: "weir-account", values: { ...ORIGIN, networkPolicy } });
    expect(fieldsOf(chart.only("NetworkPolicy")["spec"])["egress"]).toEqual([
      {
        ports: [
          { port: 53, protocol: "UDP" },
          { port: 53, protocol: "TCP" },
        ],
      },
      ...networkPolicy.egress,
    ]);
  });

  it("renders the same twice", async () => {
    const rendering = {
      chart: "weir-account",
      values: { ...ORIGIN, settings: { MAX_SESSIONS: "3", ACCESS_TTL: "5m" } },
    };
    expect(await renderYaml(rendering)).toBe(await renderYaml(rendering));
  });
});
