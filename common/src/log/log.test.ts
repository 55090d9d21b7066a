// Golden lines in both formats, what reaches them, and what must not.
import { describe, expect, it } from "vitest";

import { ServiceError } from "../errors/service-error.ts";
import { EnvReader } from "../settings/read-env.ts";
import { Secret } from "../settings/secret.ts";
import { createLog, type Log, type LogFormat, type LogLevel, readLogSettings, silentLog } from "./log.ts";

const now = (): Date => new Date("2026-11-21T11:36:00.123Z");

/** A log with a stopped clock, and the lines it has written. */
function recordedLog(format: LogFormat, level: LogLevel = "debug"): { log: Log; lines: string[] } {
  const lines: string[] = [];
  return { log: createLog({ level, format, write: (line) => void lines.push(line), now }), lines };
}

describe("createLog() text", () => {
  it.each([
    { level: "debug", word: "debug" },
    { level: "info", word: "info" },
    { level: "warn", word: "warning" },
    { level: "error", word: "error" },
  ] as const)("createLog() writes the word $word when a line is $level", ({ level, word }) => {
    const { log, lines } = recordedLog("text");
    log[level]("started");
    expect(lines).toEqual([`time="2026-11-21T11:36:00.123Z" level=${word} msg="started"\n`]);
  });

  it.each([
    { what: "a bare word", value: "10.0.0.1", text: "10.0.0.1" },
    { what: "a number", value: 8081, text: "8081" },
    { what: "a boolean", value: true, text: "true" },
    { what: "null", value: null, text: "null" },
    { what: "not a number", value: Number.NaN, text: "NaN" },
    { what: "a bigint", value: 12n, text: "12" },
    { what: "the empty text", value: "", text: '""' },
    { what: "a text with spaces", value: "a b", text: '"a b"' },
    { what: "a text with quotes", value: 'say "hi"', text: String.raw`"say \"hi\""` },
    { what: "a text with a line end", value: "a\nlevel=error", text: String.raw`"a\nlevel=error"` },
    { what: "terminal controls", value: "\u001b[2J\u009b2J\u2028", text: String.raw`"\u001b[2J\u009b2J\u2028"` },
    { what: "a list", value: ["a", 1], text: String.raw`"[\"a\",1]"` },
    {
      what: "an error",
      value: new ServiceError("X", "Cannot do", { cause: new Error("because") }),
      text: '"Cannot do: because"',
    },
    { what: "a secret", value: new Secret("hunter2"), text: '"[redacted]"' },
  ])("createLog() prints $what as one safe field", ({ value, text }) => {
    const { log, lines } = recordedLog("text");
    log.info("m", { value });
    expect(lines).toEqual([`time="2026-11-21T11:36:00.123Z" level=info msg="m" value=${text}\n`]);
  });

  it("createLog() leaves a field out when it is undefined", () => {
    const { log, lines } = recordedLog("text");
    log.info("m", { value: undefined });
    expect(lines).toEqual(['time="2026-11-21T11:36:00.123Z" level=info msg="m"\n']);
  });

  it("createLog() renames a field when its name is one of the line's own", () => {
    const { log, lines } = recordedLog("text");
    log.info("m", { level: "x", msg: "y", time: "z" });
    expect(lines).toEqual([
      'time="2026-11-21T11:36:00.123Z" level=info msg="m" fields.level=x fields.msg=y fields.time=z\n',
    ]);
  });
});

describe("createLog() JSON", () => {
  it("createLog() writes level, @timestamp, the fields and @message when the format is JSON", () => {
    const { log, lines } = recordedLog("json");
    log.warn("pod rejected", { pod: "gateway/pod-7", version: 3, error: new Error("no domain"), "@message": "forged" });
    expect(lines).toEqual([
      '{"level":"warning","@timestamp":"2026-11-21T11:36:00.123Z","pod":"gateway/pod-7","version":3,"error":"no domain","fields.@message":"forged","@message":"pod rejected"}\n',
    ]);
  });

  it("createLog() writes a circular value without failing when the format is JSON", () => {
    const { log, lines } = recordedLog("json");
    const loop: { self?: unknown } = {};
    loop.self = loop;
    log.info("m", { loop });
    expect(JSON.parse(lines[0]!)).toMatchObject({ "@message": "m", loop: { self: "[Circular]" } });
  });
});

describe("Log", () => {
  it.each([
    { level: "debug", written: ["d", "i", "w", "e"] },
    { level: "info", written: ["i", "w", "e"] },
    { level: "warn", written: ["w", "e"] },
    { level: "error", written: ["e"] },
  ] as const)("Log writes $written when the level is $level", ({ level, written }) => {
    const { log, lines } = recordedLog("json", level);
    log.debug("d");
    log.info("i");
    log.warn("w");
    log.error("e");
    expect(lines.map((line) => (JSON.parse(line) as Record<string, unknown>)["@message"])).toEqual(written);
  });

  it("isEnabled() follows the level when it is asked", () => {
    const { log } = recordedLog("text", "warn");
    expect([log.isEnabled("info"), log.isEnabled("warn"), log.isEnabled("error")]).toEqual([false, true, true]);
  });

  it("child() adds its fields once when a line repeats one of them", () => {
    const { log, lines } = recordedLog("json");
    log.child({ part: "ads", pod: "a" }).child({ stream: 1 }).info("m", { pod: "b" });
    expect(lines).toEqual([
      '{"level":"info","@timestamp":"2026-11-21T11:36:00.123Z","part":"ads","pod":"b","stream":1,"@message":"m"}\n',
    ]);
  });

  it("silentLog() writes nothing and is never enabled when it is used", () => {
    const log = silentLog().child({ a: 1 });
    log.error("m");
    expect(log.isEnabled("error")).toBe(false);
  });
});

describe("readLogSettings()", () => {
  it.each([
    { env: {}, settings: { level: "info", format: "text" } },
    { env: { LOG_LEVEL: "WARN", LOG_FORMAT: "JSON" }, settings: { level: "warn", format: "json" } },
    { env: { LOG_LEVEL: "warning" }, settings: { level: "warn", format: "text" } },
    { env: { LOG_LEVEL: "trace" }, settings: { level: "debug", format: "text" } },
    { env: { LOG_LEVEL: "fatal" }, settings: { level: "error", format: "text" } },
    { env: { LOG_LEVEL: "panic" }, settings: { level: "error", format: "text" } },
  ])("readLogSettings() gives $settings when the environment is $env", ({ env, settings }) => {
    const read = new EnvReader(env);
    expect(readLogSettings(read, { level: "info" })).toEqual(settings);
    read.done();
  });

  it("readLogSettings() refuses a level that does not exist", () => {
    const read = new EnvReader({ LOG_LEVEL: "loud" });
    readLogSettings(read, { level: "info" });
    expect(() => read.done()).toThrow(
      'LOG_LEVEL="loud": allowed is one of debug, info, warn, error (also panic, fatal, warning, trace)',
    );
  });
});
