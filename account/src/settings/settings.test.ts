import { everyHost, loopbackHosts } from "@weir/common/settings/listen-hosts";
import { type Env, SettingsError } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";
import { describeSettings, parseSettings } from "./settings.ts";

const ACCESS = "rT7-long-enough-access-value-0123456789";
const REFRESH = "zQ9-long-enough-refresh-value-987654321";
const LABEL = "mK4-long-enough-label-value-5566778899";
const PRODUCTION: Env = {
  NODE_ENV: "production",
  PUBLIC_ORIGIN: "https://account.example.com",
  ALLOW_EMBEDDED: "true",
  ACCESS_TOKEN_SECRET: ACCESS,
  REFRESH_TOKEN_SECRET: REFRESH,
  ACCOUNT_LABEL_SECRET: LABEL,
};

function problems(env: Env): readonly string[] {
  try {
    parseSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map(({ name }) => name);
    throw error;
  }
  return [];
}

function messageOf(env: Env): string {
  try {
    parseSettings(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.message;
    throw error;
  }
  return "";
}

describe("parseSettings()", () => {
  it("starts from nothing for development", () => {
    expect(parseSettings({})).toMatchObject({
      isProduction: false,
      http: {
        host: "127.0.0.1",
        otherHosts: loopbackHosts().slice(1),
        port: 8000,
        connectionsMax: 10_000,
        tls: undefined,
      },
      metrics: { host: "127.0.0.1", otherHosts: loopbackHosts().slice(1), port: 9464 },
      publicOrigin: undefined,
      corsOrigins: ["http://localhost:3000", "http://localhost:5173"],
      trustProxy: false,
      dataDirectory: "./data",
      keys: { kind: "generated" },
      accessTtlMs: 600_000,
      refreshIdleMs: 604_800_000,
      refreshAbsoluteMs: 2_592_000_000,
      refreshGraceMs: 30_000,
      refreshRotation: true,
      logOutAllowsRefresh: false,
      labelSecret: undefined,
      maxSessions: 10,
      cookies: { scope: "host", sameSite: "strict", insecureDevelopment: false },
      passwordMinLength: 8,
      passwordForbiddenWords: [],
      passwordBreachFile: undefined,
      bcryptCost: 12,
      avatarMaxBytes: 2_097_152,
      avatarRequired: true,
      shutdownDrainMs: 5000,
    });
  });

  it("listens everywhere, lets no front end in and has no page by default in production", () => {
    expect(parseSettings(PRODUCTION)).toMatchObject({
      http: { host: everyHost() },
      metrics: { host: everyHost() },
      corsOrigins: [],
      hasPage: false,
      warnings: [],
    });
  });

  it("takes the lives of refresh tokens in days", () => {
    const settings = parseSettings({ REFRESH_IDLE: "14d", REFRESH_ABSOLUTE: "60d" });
    expect([settings.refreshIdleMs, settings.refreshAbsoluteMs]).toEqual([1_209_600_000, 5_184_000_000]);
  });

  it("writes times as people do when two settings contradict each other", () => {
    expect(messageOf({ REFRESH_ABSOLUTE: "1d" })).toContain(
      'REFRESH_IDLE="168h": allowed is at most REFRESH_ABSOLUTE, which is 24h',
    );
  });

  it("leaves two threads to other work than hashing", () => {
    expect(parseSettings({ UV_THREADPOOL_SIZE: "3" }).bcryptConcurrency).toBe(1);
    expect(parseSettings({ UV_THREADPOOL_SIZE: "3", BCRYPT_CONCURRENCY: "5" }).bcryptConcurrency).toBe(5);
  });

  it.each([
    { value: "2", trust: 2 },
    { value: "10.0.0.0/8,::1", trust: ["10.0.0.0/8", "::1"] },
  ])("trusts proxies as $value says", ({ value, trust }) => {
    expect(parseSettings({ TRUST_PROXY: value }).trustProxy).toEqual(trust);
  });

  it.each([
    {
      name: "the same secret twice",
      env: { ...PRODUCTION, REFRESH_TOKEN_SECRET: ACCESS },
      names: ["REFRESH_TOKEN_SECRET"],
    },
    {
      name: "a secret of 8 characters",
      env: { ...PRODUCTION, ACCESS_TOKEN_SECRET: "Xy3!hq8Z" },
      names: ["ACCESS_TOKEN_SECRET"],
    },
    {
      name: "a placeholder",
      env: { ...PRODUCTION, ACCESS_TOKEN_SECRET: "changeme" },
      names: ["ACCESS_TOKEN_SECRET"],
    },
    {
      name: "a long placeholder",
      env: { ...PRODUCTION, ACCESS_TOKEN_SECRET: "change-me-change-me-change-me-change-me" },
      names: ["ACCESS_TOKEN_SECRET"],
    },
    {
      name: "one key held down",
      env: { ...PRODUCTION, REFRESH_TOKEN_SECRET: "a".repeat(64) },
      names: ["REFRESH_TOKEN_SECRET"],
    },
    {
      name: "no secrets",
      env: { ...PRODUCTION, ACCESS_TOKEN_SECRET: "", REFRESH_TOKEN_SECRET: "", ACCOUNT_LABEL_SECRET: "" },
      names: ["ACCESS_TOKEN_SECRET", "REFRESH_TOKEN_SECRET", "ACCOUNT_LABEL_SECRET"],
    },
    {
      name: "no secret for labels",
      env: { ...PRODUCTION, ACCOUNT_LABEL_SECRET: "" },
      names: ["ACCOUNT_LABEL_SECRET"],
    },
    {
      name: "the secret of tokens for labels",
      env: { ...PRODUCTION, ACCOUNT_LABEL_SECRET: REFRESH },
      names: ["ACCOUNT_LABEL_SECRET"],
    },
    { name: "a grace of minutes", env: { REFRESH_GRACE: "2m" }, names: ["REFRESH_GRACE"] },
    {
      name: "a forbidden word of two letters",
      env: { PASSWORD_FORBIDDEN_WORDS: "weir, we" },
      names: ["PASSWORD_FORBIDDEN_WORDS"],
    },
    { name: "one of two secrets", env: { ACCESS_TOKEN_SECRET: ACCESS }, names: ["REFRESH_TOKEN_SECRET"] },
    {
      name: "secrets next to a key file",
      env: { ...PRODUCTION, TOKEN_KEYS_FILE: "/keys" },
      names: ["TOKEN_KEYS_FILE"],
    },
    { name: "the embedded store", env: { ...PRODUCTION, ALLOW_EMBEDDED: "false" }, names: ["STORE", "MEDIA"] },
    {
      name: "local media next to a document store",
      env: { ...PRODUCTION, ALLOW_EMBEDDED: "false", STORE: "mongo", MONGODB_URI: "mongodb://db/weir" },
      names: ["MEDIA"],
    },
    { name: "a document store without its URI", env: { STORE: "mongo" }, names: ["MONGODB_URI"] },
    {
      name: "a URI without a database",
      env: { STORE: "mongo", MONGODB_URI: "mongodb://ada:s3cret@db:27017/?tls=true" },
      names: ["MONGODB_URI"],
    },
    {
      name: "a URI of another database",
      env: { STORE: "mongo", MONGODB_URI: "postgres://db/weir" },
      names: ["MONGODB_URI"],
    },
    {
      name: "insecure cookies",
      env: { ...PRODUCTION, COOKIE_INSECURE_DEV: "true" },
      names: ["COOKIE_INSECURE_DEV"],
    },
    { name: "every origin", env: { ...PRODUCTION, CORS_ORIGINS: "*" }, names: ["CORS_ORIGINS"] },
    { name: "the null origin", env: { CORS_ORIGINS: "null" }, names: ["CORS_ORIGINS"] },
    {
      name: "an origin with a path",
      env: { CORS_ORIGINS: "https://a.example/,https://b.example" },
      names: ["CORS_ORIGINS"],
    },
    { name: "an origin in capitals", env: { PUBLIC_ORIGIN: "HTTPS://A.EXAMPLE" }, names: ["PUBLIC_ORIGIN"] },
    {
      name: "local avatars in production without the origin that their URLs begin with",
      env: { ...PRODUCTION, PUBLIC_ORIGIN: "" },
      names: ["PUBLIC_ORIGIN"],
    },
    { name: "a certificate without key", env: { TLS_CERT: "/c" }, names: ["TLS_KEY"] },
    { name: "a key without certificate", env: { TLS_KEY: "/k" }, names: ["TLS_CERT"] },
    { name: "authorities of clients without TLS", env: { TLS_CLIENT_CACERT: "/a" }, names: ["TLS_CLIENT_CACERT"] },
    { name: "trust in every proxy", env: { ...PRODUCTION, TRUST_PROXY: "true" }, names: ["TRUST_PROXY"] },
    { name: "a network of no bits", env: { TRUST_PROXY: "0.0.0.0/0" }, names: ["TRUST_PROXY"] },
    { name: "a cost below 10 in production", env: { ...PRODUCTION, BCRYPT_COST: "9" }, names: ["BCRYPT_COST"] },
    {
      name: "a refresh token beyond its session",
      env: { REFRESH_IDLE: "48h", REFRESH_ABSOLUTE: "24h" },
      names: ["REFRESH_IDLE"],
    },
    {
      name: "an address of images without slash",
      env: { MEDIA_PUBLIC_URL: "https://cdn.example.com" },
      names: ["MEDIA_PUBLIC_URL"],
    },
    {
      name: "insecure cookies for other sites",
      env: { COOKIE_INSECURE_DEV: "true", COOKIE_SAMESITE: "none" },
      names: ["COOKIE_SAMESITE"],
    },
    {
      name: "three problems together",
      env: { PORT: "x", BCRYPT_COST: "99", MAX_SESSIONS: "0" },
      names: ["PORT", "MAX_SESSIONS", "BCRYPT_COST"],
    },
  ])("refuses $name", ({ env, names }) => {
    expect(problems(env)).toEqual(names);
  });

  it("names the setting and not the value", () => {
    const message = messageOf({ ...PRODUCTION, ACCESS_TOKEN_SECRET: "tiny-value" });
    expect(message).toContain("ACCESS_TOKEN_SECRET");
    expect(message).not.toContain("tiny-value");
  });

  it.each([
    "mongodb://db/weir",
    "mongodb://ada:s3cret@a:27017,b:27017/weir?replicaSet=rs0",
    "mongodb+srv://ada:s3cret@cluster.example/weir",
  ])("takes the URI %s and never prints it", (uri) => {
    const settings = parseSettings({ STORE: "mongo", MONGODB_URI: uri });
    expect(settings.store).toMatchObject({ kind: "mongo" });
    expect(settings.store.kind === "mongo" && settings.store.uri.reveal()).toBe(uri);
    expect(JSON.stringify(settings)).not.toContain("mongodb");
  });

  it("does not print a URI that it refuses", () => {
    expect(messageOf({ STORE: "mongo", MONGODB_URI: "mongodb://ada:s3cret@db" })).not.toContain("s3cret");
  });

  it("only warns of weak secrets in development", () => {
    expect(parseSettings({ ACCESS_TOKEN_SECRET: "changeme", REFRESH_TOKEN_SECRET: REFRESH }).warnings).toContain(
      "ACCESS_TOKEN_SECRET must be at least 32 bytes long in production",
    );
  });
});

describe("describeSettings()", () => {
  it("lists every setting once with what it does", () => {
    const names = describeSettings().flatMap((row) => row.names);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain("ACCESS_TOKEN_SECRET");
    expect(describeSettings().every((row) => row.effect.endsWith("."))).toBe(true);
  });
});
