// Reading settings: defaults, aliases, every kind of value, secrets, and the one error that names
// everything wrong.
import { describe, expect, it } from "vitest";

import { type Env, EnvReader, type SettingProblem, SettingsError } from "./read-env.ts";

const effect = "Does something.";

/** The problems that done() reports, or an empty list. */
function problemsOf(read: EnvReader): readonly SettingProblem[] {
  try {
    read.done();
    return [];
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
}

/** Reads every kind of setting once, all under names that begin with the kind. */
function readAll(env: Env): Record<string, unknown> {
  const read = new EnvReader(env);
  const values = {
    string: read.string("STRING", { default: "0.0.0.0", effect }),
    optional: read.optionalString("OPTIONAL", { effect }),
    integer: read.integer("INTEGER", { default: 5, effect, min: 1, max: 10 }),
    number: read.number("NUMBER", { default: 1.5, effect, min: 0 }),
    ratio: read.ratio("RATIO", { default: 0.8, effect }),
    port: read.port("PORT", { default: 8080, effect }),
    boolean: read.boolean("BOOLEAN", { default: false, effect }),
    duration: read.durationMs("DURATION", { default: "10s", effect }),
    size: read.sizeBytes("SIZE", { default: 1024, effect }),
    choice: read.oneOf("CHOICE", { default: "tcp", choices: ["tcp", "unix"], effect }),
    list: read.list("LIST", { effect }),
    map: read.map("MAP", { effect }),
  };
  read.done();
  return values;
}

describe("new EnvReader() values", () => {
  it("new EnvReader() gives the defaults when nothing is set", () => {
    expect(readAll({})).toEqual({
      string: "0.0.0.0",
      optional: undefined,
      integer: 5,
      number: 1.5,
      ratio: 0.8,
      port: 8080,
      boolean: false,
      duration: 10_000,
      size: 1024,
      choice: "tcp",
      list: [],
      map: new Map(),
    });
  });

  it("new EnvReader() gives the defaults when every variable is the empty string", () => {
    const names = [
      "STRING",
      "OPTIONAL",
      "INTEGER",
      "NUMBER",
      "RATIO",
      "PORT",
      "BOOLEAN",
      "DURATION",
      "SIZE",
      "CHOICE",
      "LIST",
      "MAP",
    ];
    expect(readAll(Object.fromEntries(names.map((name) => [name, ""])))).toEqual(readAll({}));
  });

  it("new EnvReader() gives what is set when every variable is good", () => {
    const env = {
      STRING: " as is ",
      OPTIONAL: "given",
      INTEGER: "0xa",
      NUMBER: " 2.5 ",
      RATIO: "1",
      PORT: "65535",
      BOOLEAN: "T",
      DURATION: "1m30s",
      SIZE: "2KiB",
      CHOICE: "unix",
      LIST: "a, b,,c ",
      MAP: "k1:v1, k2:v:2 ,k3:",
    };
    expect(readAll(env)).toEqual({
      string: " as is ",
      optional: "given",
      integer: 10,
      number: 2.5,
      ratio: 1,
      port: 65_535,
      boolean: true,
      duration: 90_000,
      size: 2048,
      choice: "unix",
      list: ["a", "b", "c"],
      map: new Map([
        ["k1", "v1"],
        ["k2", "v:2"],
        ["k3", ""],
      ]),
    });
  });

  it.each([
    { name: "INTEGER", value: "11", allowed: "a whole number from 1 to 10" },
    { name: "INTEGER", value: "five", allowed: "a whole number from 1 to 10" },
    { name: "NUMBER", value: "-0.1", allowed: "a number of at least 0" },
    { name: "RATIO", value: "1.01", allowed: "a number from 0 to 1" },
    { name: "PORT", value: "65536", allowed: "a port number from 0 to 65535" },
    { name: "BOOLEAN", value: "yes", allowed: "true or false (also 1, t, T, TRUE, True, 0, f, F, FALSE, False)" },
    { name: "DURATION", value: "10", allowed: "a duration such as 500ms, 10s or 1h30m" },
    { name: "SIZE", value: "1.5MB", allowed: "a size such as 65536, 512KiB or 4MiB" },
    { name: "CHOICE", value: "TCP", allowed: "one of tcp, unix" },
    { name: "MAP", value: "k1:v1,novalue", allowed: "pairs key:value separated by commas" },
  ])("new EnvReader() refuses $name=$value and names what is allowed", ({ name, value, allowed }) => {
    expect(() => readAll({ [name]: value })).toThrow(
      new SettingsError([{ name, value, allowed }]), // compares the message, which contains all three
    );
  });

  it("oneOf() understands synonyms in any letter case when the setting allows it", () => {
    const read = new EnvReader({ LOG_LEVEL: "WARNING", OTHER: "fine" });
    const described = {
      default: "info",
      choices: ["info", "warn"],
      synonyms: { warning: "warn" },
      ignoreCase: true,
      effect,
    } as const;
    expect(read.oneOf("LOG_LEVEL", described)).toBe("warn");
    read.oneOf("OTHER", described);
    expect(problemsOf(read)).toEqual([{ name: "OTHER", value: "fine", allowed: "one of info, warn (also warning)" }]);
  });

  it.each([
    { value: "30", ms: 30_000 },
    { value: "1.5", ms: 1500 },
    { value: "2m", ms: 120_000 },
  ])("durationMs() gives $ms when it gets $value and a bare number counts in seconds", ({ value, ms }) => {
    expect(new EnvReader({ REFRESH: value }).durationMs("REFRESH", { default: "0", effect, bareUnit: "s" })).toBe(ms);
  });

  it.each([
    { value: "876000h", isTimer: true, ms: 2_147_483_647 },
    { value: "876000h", isTimer: false, ms: 3_153_600_000_000 },
    { value: "596h", isTimer: true, ms: 2_145_600_000 },
  ])("durationMs() gives $ms when it gets $value and isTimer is $isTimer", ({ value, isTimer, ms }) => {
    expect(new EnvReader({ AGE: value }).durationMs("AGE", { default: "24h", effect, isTimer })).toBe(ms);
  });

  it.each([
    { value: "99ms", allowed: "a duration such as 500ms, 10s or 1h30m from 100ms to 1s" },
    { value: "1001ms", allowed: "a duration such as 500ms, 10s or 1h30m from 100ms to 1s" },
  ])("durationMs() refuses $value when it is out of bounds", ({ value, allowed }) => {
    const read = new EnvReader({ WAIT: value });
    expect(read.durationMs("WAIT", { default: "200ms", effect, minMs: 100, maxMs: 1000 })).toBe(200);
    expect(problemsOf(read)).toEqual([{ name: "WAIT", value, allowed }]);
  });

  it("durationMs() takes days in the value and in the default when the setting has them, and names them when it refuses", () => {
    const read = new EnvReader({ IDLE: "14d", LIFE: "1w" });
    expect(read.durationMs("IDLE", { default: "7d", effect, hasDays: true })).toBe(1_209_600_000);
    expect(read.durationMs("LIFE", { default: "7d", effect, hasDays: true })).toBe(604_800_000);
    expect(() => {
      read.done();
    }).toThrow('LIFE="1w": allowed is a duration such as 10s, 1h30m or 7d');
  });

  it("durationMs() throws immediately when the default in the code is no duration", () => {
    expect(() => new EnvReader({}).durationMs("WAIT", { default: "10", effect })).toThrow(
      'Cannot use "10" as a default: it is not a duration',
    );
  });

  it("map() splits at another separator when one is given", () => {
    expect(new EnvReader({ HEADERS: "a=b:c,d=" }).map("HEADERS", { effect, separator: "=" })).toEqual(
      new Map([
        ["a", "b:c"],
        ["d", ""],
      ]),
    );
  });
});

describe("new EnvReader() aliases", () => {
  const names = ["KVSTORE_URL", "REDIS_URL"] as const;

  it.each([
    { env: { KVSTORE_URL: "a" }, value: "a" },
    { env: { REDIS_URL: "b" }, value: "b" },
    { env: { KVSTORE_URL: "", REDIS_URL: "b" }, value: "b" },
    { env: { KVSTORE_URL: "c", REDIS_URL: "c" }, value: "c" },
    { env: {}, value: "default" },
  ])("new EnvReader() gives $value when the environment is $env", ({ env, value }) => {
    const read = new EnvReader(env);
    expect(read.string(names, { default: "default", effect })).toBe(value);
    expect(problemsOf(read)).toEqual([]);
  });

  it("new EnvReader() names both variables when a setting and its alias differ", () => {
    const read = new EnvReader({ KVSTORE_URL: "redis://u:p@a", REDIS_URL: "redis://u:q@b" });
    read.string(names, { default: "", effect });
    expect(problemsOf(read)).toEqual([
      {
        name: "KVSTORE_URL",
        value: "redis://[redacted]@a",
        allowed:
          'only one value, but REDIS_URL is the same setting and holds the different value "redis://[redacted]@b"',
      },
    ]);
  });

  it("new EnvReader() names the alias when it is the alias that has a bad value", () => {
    const read = new EnvReader({ REDIS_POOL_SIZE: "many" });
    read.integer(["KVSTORE_POOL_SIZE", "REDIS_POOL_SIZE"], { default: 10, effect });
    expect(problemsOf(read)).toEqual([{ name: "REDIS_POOL_SIZE", value: "many", allowed: "a whole number" }]);
  });
});

describe("new EnvReader() secrets", () => {
  const files: Readonly<Record<string, string>> = {
    "/run/auth": "hunter2\n",
    "/run/windows": "hunter2\r\n",
    "/run/spaces": " a \n\n",
    "/run/empty": "\n",
  };
  const deps = {
    readFile: (path: string): string => {
      const content = files[path];
      if (content === undefined) throw new Error(`ENOENT: no such file or directory, open '${path}'`);
      return content;
    },
  };
  const names = ["KVSTORE_AUTH", "REDIS_AUTH"] as const;

  it.each([
    { env: {}, value: undefined },
    { env: { KVSTORE_AUTH: "hunter2" }, value: "hunter2" },
    { env: { REDIS_AUTH: "hunter2" }, value: "hunter2" },
    { env: { KVSTORE_AUTH_FILE: "/run/auth" }, value: "hunter2" },
    { env: { REDIS_AUTH_FILE: "/run/windows" }, value: "hunter2" },
    { env: { KVSTORE_AUTH_FILE: "/run/spaces" }, value: " a \n" },
    { env: { KVSTORE_AUTH: "hunter2", KVSTORE_AUTH_FILE: "/run/auth" }, value: "hunter2" },
  ])("secret() gives $value when the environment is $env", ({ env, value }) => {
    const read = new EnvReader(env, deps);
    expect(read.secret(names, { effect })?.reveal()).toBe(value);
    expect(problemsOf(read)).toEqual([]);
  });

  it.each([
    {
      env: { KVSTORE_AUTH_FILE: "/run/none" },
      problem: {
        name: "KVSTORE_AUTH_FILE",
        value: "/run/none",
        allowed: "the path of a readable file (ENOENT: no such file or directory, open '/run/none')",
      },
    },
    {
      env: { KVSTORE_AUTH_FILE: "/run/empty" },
      problem: { name: "KVSTORE_AUTH_FILE", value: "/run/empty", allowed: "the path of a file that is not empty" },
    },
    {
      env: { KVSTORE_AUTH: "top", KVSTORE_AUTH_FILE: "/run/auth" },
      problem: {
        name: "KVSTORE_AUTH",
        value: "[redacted]",
        allowed: "only one value, but KVSTORE_AUTH_FILE is the same setting and holds a different value",
      },
    },
    {
      env: { KVSTORE_AUTH: "top", REDIS_AUTH: "secret" },
      problem: {
        name: "KVSTORE_AUTH",
        value: "[redacted]",
        allowed: "only one value, but REDIS_AUTH is the same setting and holds a different value",
      },
    },
  ])("secret() reports a problem without the secret when the environment is $env", ({ env, problem }) => {
    const read = new EnvReader(env, deps);
    read.secret(names, { effect });
    expect(problemsOf(read)).toEqual([problem]);
  });
});

describe("new EnvReader() problems and rows", () => {
  it("done() throws one error with a line for each problem when several settings are wrong", () => {
    const read = new EnvReader({ GRPC_PORT: "abc", RATIO: "2", TLS_CERT: "/tls.crt" });
    read.port("GRPC_PORT", { default: 8081, effect });
    read.ratio("RATIO", { default: 0.8, effect });
    read.problem("TLS_KEY", undefined, "the path of a key, because TLS_CERT is set");
    read.problem("AUTH", "[redacted]", "user:password");
    expect(() => read.done()).toThrow(
      [
        "Cannot read the settings: 4 settings are wrong",
        '  GRPC_PORT="abc": allowed is a port number from 0 to 65535',
        '  RATIO="2": allowed is a number from 0 to 1',
        "  TLS_KEY is not set: allowed is the path of a key, because TLS_CERT is set",
        "  AUTH=[redacted]: allowed is user:password",
      ].join("\n"),
    );
  });

  it.each([
    ["the alias that is set", { REDIS_URL: "nowhere" }, "REDIS_URL"],
    ["the primary name when that is set", { KVSTORE_URL: "nowhere", REDIS_URL: "nowhere" }, "KVSTORE_URL"],
    ["the primary name when nothing is set", { REDIS_URL: "" }, "KVSTORE_URL"],
  ])("problem() names %s", (_what, env, name) => {
    const read = new EnvReader(env);
    read.optionalString(["KVSTORE_URL", "REDIS_URL"], { effect });
    read.problem("KVSTORE_URL", "nowhere", "host:port");
    expect(problemsOf(read)).toEqual([{ name, value: "nowhere", allowed: "host:port" }]);
  });

  it("done() quotes only the beginning when a wrong value is long", () => {
    const read = new EnvReader({ PORT: "9".repeat(1000) });
    read.port("PORT", { default: 1, effect });
    expect(problemsOf(read)).toEqual([
      { name: "PORT", value: `${"9".repeat(200)}…`, allowed: "a port number from 0 to 65535" },
    ]);
  });

  it("rows() lists every setting in the order of reading when they have been read", () => {
    const read = new EnvReader({});
    read.durationMs(["KVSTORE_TIMEOUT", "REDIS_TIMEOUT"], { default: "10s", effect: "Longest wait." });
    read.oneOf("TYPE", { default: "single", choices: ["single", "cluster"], effect: "Kind of deployment." });
    read.secret("AUTH", { effect: "Password." });
    read.map("TAGS", { effect: "Tags." });
    expect(read.rows()).toEqual([
      { names: ["KVSTORE_TIMEOUT", "REDIS_TIMEOUT"], type: "duration", default: "10s", effect: "Longest wait." },
      { names: ["TYPE"], type: "single | cluster", default: "single", effect: "Kind of deployment." },
      { names: ["AUTH"], type: "secret, or NAME_FILE", default: "", effect: "Password." },
      { names: ["TAGS"], type: "list of key:value", default: "", effect: "Tags." },
    ]);
  });
});
