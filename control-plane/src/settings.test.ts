// Tests of settings.ts.
import { everyHost } from "@weir/common/settings/listen-hosts";
import type { SettingProblem, SettingsError } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";

import { describeSettings, parseSettings } from "./settings.ts";

const TLS = {
  SOURCE_DIRECTORY: "limits",
  ADS_TLS_CERT: "server.pem",
  ADS_TLS_KEY: "server.key",
  ADS_TLS_CLIENT_CACERT: "ca.pem",
};

/** The problems of these settings. */
function problemsOf(env: Readonly<Record<string, string>>): readonly SettingProblem[] {
  try {
    parseSettings(env);
  } catch (error) {
    return (error as SettingsError).problems;
  }
  return [];
}

describe("parseSettings()", () => {
  it("gives the documented defaults", () => {
    expect(parseSettings(TLS)).toMatchObject({
      source: { kind: "directory", directory: "limits" },
      ads: {
        host: everyHost(),
        port: 18_000,
        connectionAgeMaxMs: 3_600_000,
        streamsPerIdentityMax: 2000,
        security: {
          kind: "mutual-tls",
          certPath: "server.pem",
          keyPath: "server.key",
          caPath: "ca.pem",
          allowedNames: [],
          isFleetFromCertificate: false,
          reportNames: undefined,
        },
      },
      http: { host: everyHost(), port: 8090, hasReports: true, consolePort: 8092, needsConsole: false },
      debounceQuietMs: 100,
      debounceMaxMs: 1000,
      snapshotMaxBytes: 4_128_768,
      allowEmptyAfterMs: 10_000,
      shutdownDrainMs: 5000,
      shutdownGraceMs: 10_000,
      log: { level: "info", format: "text" },
    });
  });

  it("reads the names that pods must have", () => {
    expect(
      parseSettings({ ...TLS, ADS_ALLOWED_SANS: "ratelimit, spiffe://weir/ratelimit" }).ads.security,
    ).toMatchObject({
      allowedNames: ["ratelimit", "spiffe://weir/ratelimit"],
    });
  });

  it.each([
    { env: { ADS_FLEET_FROM_CERTIFICATE: "true" }, expected: { isFleetFromCertificate: true, reportNames: [] } },
    {
      env: { ADS_FLEET_FROM_CERTIFICATE: "true", ADS_REPORT_SANS: "operator,spiffe://weir/a" },
      expected: { isFleetFromCertificate: true, reportNames: ["operator", "spiffe://weir/a"] },
    },
    { env: { ADS_REPORT_SANS: "operator" }, expected: { isFleetFromCertificate: false, reportNames: ["operator"] } },
  ])("reads who may read reports: $env", ({ env, expected }) => {
    expect(parseSettings({ ...TLS, ...env }).ads.security).toMatchObject(expected);
  });

  it.each([
    { value: undefined, expected: { consolePort: 8092, needsConsole: false } },
    { value: "", expected: { consolePort: 8092, needsConsole: false } },
    { value: "8092", expected: { consolePort: 8092, needsConsole: true } },
  ])("needs the port of the console only when CONSOLE_PORT is set: $value", ({ value, expected }) => {
    expect(parseSettings({ ...TLS, CONSOLE_PORT: value }).http).toMatchObject(expected);
  });

  it("serves no reports over HTTP when that is asked for", () => {
    expect(parseSettings({ ...TLS, HTTP_REPORTS: "false" }).http.hasReports).toBe(false);
  });

  it("names the certificate settings that plaintext contradicts", () => {
    const env = { SOURCE_DIRECTORY: "limits", ADS_PLAINTEXT: "true", ADS_FLEET_FROM_CERTIFICATE: "true" };
    expect(problemsOf({ ...env, ADS_REPORT_SANS: "operator" })).toEqual([
      {
        name: "ADS_FLEET_FROM_CERTIFICATE",
        value: "true",
        allowed: "false, because ADS_PLAINTEXT=true serves without certificates",
      },
      { name: "ADS_REPORT_SANS", value: "operator", allowed: "nothing, because ADS_PLAINTEXT=true serves without TLS" },
    ]);
  });

  it("takes a connection age of a second at least, so that no pod is sent away as it comes", () => {
    expect(parseSettings({ ...TLS, ADS_MAX_CONNECTION_AGE: "30m" }).ads.connectionAgeMaxMs).toBe(1_800_000);
    expect(problemsOf({ ...TLS, ADS_MAX_CONNECTION_AGE: "0s" }).map(({ name }) => name)).toEqual([
      "ADS_MAX_CONNECTION_AGE",
    ]);
  });

  it("serves without TLS only when that is asked for by name", () => {
    expect(parseSettings({ SOURCE_DIRECTORY: "limits", ADS_PLAINTEXT: "true" }).ads.security).toEqual({
      kind: "plaintext",
    });
    expect(problemsOf({ SOURCE_DIRECTORY: "limits" }).map(({ name }) => name)).toEqual([
      "ADS_TLS_CERT",
      "ADS_TLS_KEY",
      "ADS_TLS_CLIENT_CACERT",
    ]);
  });

  it("refuses TLS settings that plaintext would make meaningless", () => {
    expect(
      problemsOf({ ...TLS, ADS_PLAINTEXT: "true", ADS_ALLOWED_SANS: "ratelimit" }).map(({ name }) => name),
    ).toEqual(["ADS_TLS_CERT", "ADS_TLS_KEY", "ADS_TLS_CLIENT_CACERT", "ADS_ALLOWED_SANS"]);
  });

  it.each([
    { name: "SOURCE", value: "carrier-pigeon" },
    { name: "ADS_PORT", value: "70000" },
    { name: "HTTP_PORT", value: "http" },
    { name: "DEBOUNCE_QUIET", value: "fast" },
    { name: "DEBOUNCE_MAX", value: "50ms" },
    { name: "SNAPSHOT_MAX_BYTES", value: "0" },
    { name: "SNAPSHOT_NAMESPACE_MAX_BYTES", value: "0" },
    { name: "SNAPSHOT_NAMESPACE_MAX_BYTES", value: "half" },
    { name: "ALLOW_EMPTY_AFTER", value: "-1s" },
    { name: "ADS_PLAINTEXT", value: "perhaps" },
  ])("names $name when it is $value", ({ name, value }) => {
    expect(problemsOf({ ...TLS, [name]: value }).map((problem) => problem.name)).toEqual([name]);
  });

  it("takes durations that no timer can wait for the longest that one can, instead of for none", () => {
    const names = [
      "ADS_MAX_CONNECTION_AGE",
      "SHUTDOWN_DRAIN",
      "SHUTDOWN_GRACE",
      "DEBOUNCE_QUIET",
      "DEBOUNCE_MAX",
      "ALLOW_EMPTY_AFTER",
    ];
    const settings = parseSettings({ ...TLS, ...Object.fromEntries(names.map((name) => [name, "876000h"])) });
    const { ads, shutdownDrainMs, shutdownGraceMs, debounceQuietMs, debounceMaxMs, allowEmptyAfterMs } = settings;
    const all = [
      ads.connectionAgeMaxMs,
      shutdownDrainMs,
      shutdownGraceMs,
      debounceQuietMs,
      debounceMaxMs,
      allowEmptyAfterMs,
    ];
    expect(all).toEqual(names.map(() => 2_147_483_647));
  });

  it.each([
    { what: "none for a folder", env: { SOURCE_DIRECTORY: "limits" }, expected: undefined },
    { what: "half of all for a cluster", env: { SOURCE: "kubernetes" }, expected: 2_064_384 },
    {
      what: "half of SNAPSHOT_MAX_BYTES, rounded down",
      env: { SOURCE: "kubernetes", SNAPSHOT_MAX_BYTES: "1001" },
      expected: 500,
    },
    {
      what: "half for two namespaces",
      env: { SOURCE: "kubernetes", WATCH_NAMESPACES: "team-a,team-b" },
      expected: 2_064_384,
    },
    {
      what: "half for namespaces by label, which may be many",
      env: { SOURCE: "kubernetes", WATCH_NAMESPACE_SELECTOR: "limits=on" },
      expected: 2_064_384,
    },
    {
      what: "none for one namespace",
      env: { SOURCE: "kubernetes", WATCH_NAMESPACES: "team-a,team-a" },
      expected: undefined,
    },
    {
      what: "what is set, for a folder too",
      env: { SOURCE_DIRECTORY: "limits", SNAPSHOT_NAMESPACE_MAX_BYTES: "1000" },
      expected: 1000,
    },
    {
      what: "what is set, for one namespace too",
      env: { SOURCE: "kubernetes", WATCH_NAMESPACES: "team-a", SNAPSHOT_NAMESPACE_MAX_BYTES: "1000" },
      expected: 1000,
    },
  ])("bounds the bytes of one namespace by $what", ({ env, expected }) => {
    expect(parseSettings({ ADS_PLAINTEXT: "true", ...env }).namespaceMaxBytes).toBe(expected);
  });

  it("keeps revisions of a folder in another one, next to it too", () => {
    const stateOf = (stateDirectory: string): unknown =>
      parseSettings({ ...TLS, SOURCE_DIRECTORY: "/limits", STATE_DIRECTORY: stateDirectory }).source;
    for (const stateDirectory of ["/state", "/limits-state", "/limits/../state"])
      expect(stateOf(stateDirectory)).toEqual({ kind: "directory", directory: "/limits", stateDirectory });
  });

  it("takes a hundred namespaces", () => {
    const names = Array.from({ length: 100 }, (_, index) => `team-${index}`);
    const env = { ADS_PLAINTEXT: "true", SOURCE: "kubernetes", WATCH_NAMESPACES: names.join(",") };
    expect(parseSettings(env).source).toMatchObject({ scope: { kind: "named", names } });
  });

  it("names the folder when none is given", () => {
    expect(problemsOf({ ADS_PLAINTEXT: "true" })).toEqual([
      { name: "SOURCE_DIRECTORY", value: undefined, allowed: "the path of a folder with RateLimitConfig manifests" },
    ]);
  });

  it.each([
    { env: {}, source: { connection: { kind: "kubeconfig", paths: [] }, scope: { kind: "all" } } },
    {
      env: { KUBERNETES_SERVICE_HOST: "10.96.0.1", KUBERNETES_SERVICE_PORT: "6443" },
      source: { connection: { kind: "in-cluster", host: "10.96.0.1", port: 6443 }, scope: { kind: "all" } },
    },
    {
      env: { KUBECONFIG: "/a::/b:", KUBERNETES_SERVICE_HOST: "10.96.0.1", WATCH_NAMESPACES: "team-a, team-b,team-a" },
      source: {
        connection: { kind: "kubeconfig", paths: ["/a", "/b"] },
        scope: { kind: "named", names: ["team-a", "team-b"] },
      },
    },
    {
      env: { WATCH_NAMESPACE_SELECTOR: "limits in (on, yes),!legacy" },
      source: {
        connection: { kind: "kubeconfig", paths: [] },
        scope: { kind: "labelled", selector: "limits in (on, yes),!legacy" },
      },
    },
  ])("reads $source from $env when the source is Kubernetes", ({ env, source }) => {
    expect(parseSettings({ ADS_PLAINTEXT: "true", SOURCE: "kubernetes", ...env }).source).toEqual({
      kind: "kubernetes",
      ...source,
    });
  });

  it.each([
    { env: { SOURCE: "kubernetes", SOURCE_DIRECTORY: "limits" }, name: "SOURCE_DIRECTORY" },
    { env: { SOURCE: "kubernetes", STATE_DIRECTORY: "state" }, name: "STATE_DIRECTORY" },
    { env: { SOURCE_DIRECTORY: "limits", STATE_DIRECTORY: "limits" }, name: "STATE_DIRECTORY" },
    { env: { SOURCE_DIRECTORY: "limits", STATE_DIRECTORY: "./limits/below/state" }, name: "STATE_DIRECTORY" },
    { env: { SOURCE: "kubernetes", WATCH_NAMESPACES: "Team_A" }, name: "WATCH_NAMESPACES" },
    {
      env: {
        SOURCE: "kubernetes",
        WATCH_NAMESPACES: Array.from({ length: 101 }, (_, index) => `team-${index}`).join(","),
      },
      name: "WATCH_NAMESPACES",
    },
    {
      env: { SOURCE: "kubernetes", WATCH_NAMESPACES: "team-a", WATCH_NAMESPACE_SELECTOR: "a=b" },
      name: "WATCH_NAMESPACE_SELECTOR",
    },
    { env: { SOURCE_DIRECTORY: "limits", WATCH_NAMESPACES: "team-a" }, name: "WATCH_NAMESPACES" },
    { env: { SOURCE_DIRECTORY: "limits", WATCH_NAMESPACE_SELECTOR: "a=b" }, name: "WATCH_NAMESPACE_SELECTOR" },
  ])("names $name when it means nothing or cannot be: $env", ({ env, name }) => {
    expect(problemsOf({ ADS_PLAINTEXT: "true", ...env }).map((problem) => problem.name)).toEqual([name]);
  });
});

describe("describeSettings()", () => {
  it("lists every setting with a sentence", () => {
    const rows = describeSettings();
    expect(rows.flatMap(({ names }) => names)).toEqual(
      expect.arrayContaining([
        "SOURCE",
        "SOURCE_DIRECTORY",
        "ADS_PORT",
        "ADS_PLAINTEXT",
        "SNAPSHOT_MAX_BYTES",
        "SNAPSHOT_NAMESPACE_MAX_BYTES",
        "ALLOW_EMPTY_AFTER",
        "LOG_LEVEL",
      ]),
    );
    expect(rows.filter(({ effect }) => !effect.endsWith("."))).toEqual([]);
  });
});
