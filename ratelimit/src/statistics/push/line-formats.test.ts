// Golden lines of every format.
import { createLog, silentLog } from "@weir/common/log/log";
import { describe, expect, it } from "vitest";
import { createJsonFormat, createStatsdFormat, type LineFormat } from "./line-format.ts";
import { parseMogrifier } from "./mogrifier.ts";
import { createTaggedFormat, type TaggedFormatOptions } from "./tagged-format.ts";

const NO_TAGS = new Map<string, string>();
const TAGS = new Map([
  ["foo", "bar"],
  ["a", "b"],
]);

function tagged(options: Partial<TaggedFormatOptions> = {}): LineFormat {
  return createTaggedFormat({ log: silentLog() }, { extraTags: NO_TAGS, globalTags: [], mogrifiers: [], ...options });
}

function mogrifier(pattern: string, name: string, tags?: string) {
  const parsed = parseMogrifier("M", { PATTERN: pattern, NAME: name, TAGS: tags }, (_, message) => {
    throw new Error(message);
  });
  if (parsed === undefined) throw new Error("No problem was reported");
  return parsed;
}

describe("createStatsdFormat()", () => {
  const format = createStatsdFormat({ extraTags: NO_TAGS });

  it("case 180: createStatsdFormat() writes the cleaned name of a rule with its difference", () => {
    expect(format.counter("ratelimit.service.rate_limit.d.path_/foo_*_bar.total_hits", 12)).toBe(
      "ratelimit.service.rate_limit.d.path_/foo_*_bar.total_hits:12|c\n",
    );
  });

  it.each([
    { value: 7, line: "g:7|g\n" },
    { value: 0, line: "g:0|g\n" },
    { value: 1.5, line: "g:1.500000|g\n" },
    { value: -3, line: "g:0|g\n" }, // With a sign it would be a change of the value.
  ])("createStatsdFormat() writes $line for a gauge of $value", ({ value, line }) => {
    expect(format.gauge("g", value)).toBe(line);
  });

  it("createStatsdFormat() writes durations in ms and nothing at the end", () => {
    expect(format.timer("ratelimit_server.ShouldRateLimit.response_time", 3)).toBe(
      "ratelimit_server.ShouldRateLimit.response_time:3|ms\n",
    );
    expect(format.flushed()).toBe("");
  });

  it("case 188: createStatsdFormat() writes extra tags into the names of rules and of the service", () => {
    const withTags = createStatsdFormat({ extraTags: TAGS });
    expect(withTags.counter("ratelimit.service.rate_limit.d.k.total_hits", 1)).toBe(
      "ratelimit.service.rate_limit.d.k.total_hits.__a=b.__foo=bar:1|c\n",
    );
    expect(withTags.gauge("ratelimit.redis_pool.cx_active", 2)).toBe(
      "ratelimit.redis_pool.cx_active.__a=b.__foo=bar:2|g\n",
    );
    expect(withTags.timer("ratelimit_server.Check.response_time", 0)).toBe(
      "ratelimit_server.Check.response_time.__a=b.__foo=bar:0|ms\n",
    );
  });
});

describe("createTaggedFormat()", () => {
  it("case 185: createTaggedFormat() makes tags of the parts after .__ and leaves out a part without =", () => {
    expect(tagged().counter("a.b.__COMMIT=12345.__DEPLOY=6890", 2)).toBe("a.b:2|c|#COMMIT:12345,DEPLOY:6890\n");
    expect(tagged().counter("a.b.__COMMIT=12345.__DEPLOY", 2)).toBe("a.b:2|c|#COMMIT:12345\n");
    expect(tagged().counter("a.b.__DEPLOY", 2)).toBe("a.b:2|c\n");
  });

  it("case 185: createTaggedFormat() logs a part without = at level debug, once per name", () => {
    const lines: string[] = [];
    const log = createLog({ level: "debug", format: "text", write: (line) => lines.push(line) });
    const format = createTaggedFormat({ log }, { extraTags: NO_TAGS, globalTags: [], mogrifiers: [] });
    format.counter("a.__DEPLOY", 1);
    format.counter("a.__DEPLOY", 1);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain("part=DEPLOY");
  });

  it.each([
    { value: 3, line: "g:3|g\n" },
    { value: 0.25, line: "g:0.25|g\n" },
    { value: -1, line: "g:-1|g\n" },
  ])("createTaggedFormat() writes $line for a gauge of $value", ({ value, line }) => {
    expect(tagged().gauge("g", value)).toBe(line);
  });

  it("createTaggedFormat() writes durations with six decimals", () => {
    expect(tagged().timer("t", 3)).toBe("t:3.000000|ms\n");
  });

  it("createTaggedFormat() writes global tags first, then those of the name, then those of the mogrifier", () => {
    const format = tagged({
      extraTags: TAGS,
      globalTags: ["env:prod"],
      mogrifiers: [mogrifier("^(x)\\.y$", "$1", "of:$1")],
    });
    expect(format.counter("x.y", 1)).toBe("x:1|c|#env:prod,a:b,foo:bar,of:x\n");
  });

  it("case 186: createTaggedFormat() rewrites a rule's name into tags", () => {
    const pattern = "^ratelimit\\.service\\.rate_limit\\.(.*)\\.(.*)\\.(.*)$";
    const format = tagged({
      mogrifiers: [mogrifier(pattern, "ratelimit.service.rate_limit.$3", "domain:$1,descriptor:$2")],
    });
    expect(format.counter("ratelimit.service.rate_limit.mongo_cps.database_users.within_limit", 4)).toBe(
      "ratelimit.service.rate_limit.within_limit:4|c|#domain:mongo_cps,descriptor:database_users\n",
    );
  });

  it("createTaggedFormat() keeps what a request sent from ending a tag or a line", () => {
    const format = tagged({ mogrifiers: [mogrifier("^rule\\.(.*)\\.hits$", "hits", "value:$1")] });
    expect(format.counter("rule.x,admin:1|c.hits", 1)).toBe("hits:1|c|#value:x_admin:1_c\n");
  });
});

describe("createJsonFormat()", () => {
  const format = createJsonFormat({ nowMs: () => 1_700_000_000_120 }, { extraTags: new Map([["a", "b"]]) });

  it.each([
    {
      line: format.counter("c", 2),
      text: '{"level":"debug","ts":1700000000.120000,"logger":"gostats.loggingsink","msg":"flushing counter","json":{"name":"c.__a=b","type":"counter","value":"2.000000"}}\n',
    },
    {
      line: format.gauge("g", 0.5),
      text: '{"level":"debug","ts":1700000000.120000,"logger":"gostats.loggingsink","msg":"flushing gauge","json":{"name":"g.__a=b","type":"gauge","value":"0.500000"}}\n',
    },
    {
      line: format.timer("t", 12),
      text: '{"level":"debug","ts":1700000000.120000,"logger":"gostats.loggingsink","msg":"flushing timer","json":{"name":"t.__a=b","type":"timer","value":"12.000000"}}\n',
    },
    {
      line: format.flushed(),
      text: '{"level":"debug","ts":1700000000.120000,"logger":"gostats.loggingsink","msg":"flushing all stats","json":{"type":"all stats","value":"0.000000"}}\n',
    },
  ])("createJsonFormat() writes $text", ({ line, text }) => {
    expect(line).toBe(text);
  });

  it("createJsonFormat() escapes names", () => {
    const { json } = JSON.parse(format.counter('say "x"\\', 1)) as { json: { name: string } };
    expect(json.name).toBe('say "x"\\.__a=b');
  });
});
