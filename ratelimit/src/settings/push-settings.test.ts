// Settings of pushed statistics under every name, and invalid values.
import { settingRowsOf } from "@weir/common/settings/program-settings";
import { EnvReader, SettingsError } from "@weir/common/settings/read-env";
import { describe, expect, it } from "vitest";

import { readStatisticsSettings, type StatisticsSettings } from "./statistics-settings.ts";

function read(env: Readonly<Record<string, string>>): StatisticsSettings {
  const reader = new EnvReader(env);
  const settings = readStatisticsSettings(reader);
  reader.done();
  return settings;
}

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    read(env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems.map(({ name, allowed }) => `${name}: ${allowed}`);
    throw error;
  }
  return [];
}

describe("readPushSettings()", () => {
  it.each([
    {
      what: "Weir",
      env: {
        USE_PUSHSTATS: "true",
        PUSHSTATS_HOST: "h",
        PUSHSTATS_PORT: "1",
        PUSHSTATS_PROTOCOL: "udp",
        USE_TAGGED_STATS: "1",
      },
    },
    {
      what: "envoyproxy/ratelimit",
      env: { USE_STATSD: "t", STATSD_HOST: "h", STATSD_PORT: "1", STATSD_PROTOCOL: "UDP", USE_DOG_STATSD: "true" },
    },
  ])("readPushSettings() takes the names of $what", ({ env }) => {
    expect(read({ ...env, STATS_FLUSH_INTERVAL: "1m30s" })).toMatchObject({
      push: {
        flushIntervalMs: 90_000,
        statsd: { host: "h", port: 1, protocol: "udp" },
        tagged: { host: "h", port: 1, mogrifiers: [], globalTags: [] },
      },
      isOutput: false,
    });
  });

  it.each([
    { env: { USE_STATSD: "false" }, on: { statsd: false, tagged: false, pull: false, isOutput: true } },
    {
      env: { USE_PUSHSTATS: "false", USE_TAGGED_STATS: "true" },
      on: { statsd: false, tagged: true, pull: false, isOutput: false },
    },
    {
      env: { USE_PUSHSTATS: "false", USE_PULLSTATS: "true" },
      on: { statsd: false, tagged: false, pull: true, isOutput: false },
    },
    {
      env: { USE_TAGGED_STATS: "true", USE_PULLSTATS: "true" },
      on: { statsd: true, tagged: true, pull: true, isOutput: false },
    },
    {
      env: { DISABLE_STATS: "true", USE_PULLSTATS: "true" },
      on: { statsd: false, tagged: false, pull: false, isOutput: false },
    },
    {
      env: { DISABLE_STATS: "true", USE_STATSD: "false" },
      on: { statsd: false, tagged: false, pull: false, isOutput: false },
    },
  ])("readPushSettings() turns on $on when $env", ({ env, on }) => {
    const { push, pull, isOutput } = read(env);
    expect({
      statsd: push.statsd !== undefined,
      tagged: push.tagged !== undefined,
      pull: pull !== undefined,
      isOutput,
    }).toEqual(on);
  });

  it("readPushSettings() reads mogrifiers in order, under all spellings and in upper case", () => {
    const { push } = read({
      USE_TAGGED_STATS: "true",
      USE_TAGGED_STATS_MOGRIFIERS: "second,first,third",
      TAGGED_STATS_MOGRIFIERS_FIRST_PATTERN: "a",
      TAGGED_STATS_MOGRIFIER_FIRST_NAME: "first",
      DOG_STATSD_MOGRIFIERS_SECOND_PATTERN: "b",
      DOG_STATSD_MOGRIFIER_SECOND_NAME: "second",
      DOG_STATSD_MOGRIFIER_SECOND_TAGS: "x:$0",
      DOG_STATSD_MOGRIFIER_THIRD_PATTERN: "c",
      DOG_STATSD_MOGRIFIER_THIRD_NAME: "third",
    });
    expect(push.tagged?.mogrifiers.map(({ name, tags }) => ({ name, tags }))).toEqual([
      { name: "second", tags: [["x", "$0"]] },
      { name: "first", tags: [] },
      { name: "third", tags: [] },
    ]);
  });

  it("readPushSettings() takes the global tags of DogStatsD clients", () => {
    const { push } = read({
      USE_TAGGED_STATS: "true",
      DD_VERSION: "1",
      DD_ENV: "prod",
      DD_SERVICE: "limits",
      DD_ENTITY_ID: "pod",
    });
    expect(push.tagged?.globalTags).toEqual(["dd.internal.entity_id:pod", "env:prod", "service:limits", "version:1"]);
  });

  it("case 187: readPushSettings() names every setting of a mogrifier that is missing or wrong", () => {
    const env = {
      TAGGED_STATS_MOGRIFIERS: "a,b",
      TAGGED_STATS_MOGRIFIER_B_PATTERN: "(?=x)",
      DOG_STATSD_MOGRIFIERS_B_TAGS: "descriptor:",
    };
    expect(problemsOf({ ...env, USE_TAGGED_STATS: "true" })).toEqual([
      "TAGGED_STATS_MOGRIFIERS_A_PATTERN: a regular expression (no PATTERN specified for mogrifier a)",
      "TAGGED_STATS_MOGRIFIERS_A_NAME: the name to send under (no NAME specified for mogrifier a)",
      "TAGGED_STATS_MOGRIFIER_B_PATTERN: a regular expression (failed to compile pattern for b: (?=x): error parsing regexp: invalid or unsupported Perl syntax: `(?=`)",
      "TAGGED_STATS_MOGRIFIERS_B_NAME: the name to send under (no NAME specified for mogrifier b)",
      'DOG_STATSD_MOGRIFIERS_B_TAGS: tags key:value separated by commas (no value specified for tag "descriptor:" for mogrifier b)',
    ]);
    expect(problemsOf(env)).toEqual([]);
  });

  it("readPushSettings() describes the settings of a mogrifier under a placeholder", () => {
    expect(settingRowsOf(readStatisticsSettings).map(({ names }) => names[0])).toContain(
      "TAGGED_STATS_MOGRIFIERS_<NAME>_PATTERN",
    );
  });
});
