// Mapping files: what they map, and the refusal of what is no mapping.
import { describe, expect, it } from "vitest";
import { mapName } from "./mapping.ts";
import { parseMapping } from "./mapping-file.ts";

const FILE = `
defaults:
  timer_type: histogram
  buckets: [1, 10]
  ttl: 1h
mappings:
- match: 'app\\.(?P<kind>\\w+)\\.(.*)'
  match_type: regex
  name: by_regex
  labels: {kind: $1, rest: "\${2}", none: $9}
- match: "*.dropped"
  action: drop
- match: "app.*.*.time"
  name: "app_$2_time"
  match_metric_type: observer
  observer_type: summary
  scale: 0.001
  help: How long it took
- match: "app.*.count"
  match_metric_type: counter
  name: app_count
  labels:
    part: "$1"
`;

describe("parseMapping()", () => {
  const mapping = parseMapping(FILE, "mapping.yaml");

  it("mapName() takes a glob before a regular expression that stands above it", () => {
    expect(mapName(mapping, "app.a.count", "counter")).toMatchObject({ family: "app_count", labels: [["part", "a"]], scale: 1 });
  });

  it("mapName() goes on to regular expressions when the kind does not fit, and keeps groups that do not exist", () => {
    expect(mapName(mapping, "app.a.count", "gauge")).toMatchObject({
      family: "by_regex",
      labels: [
        ["kind", "a"],
        ["rest", "count"],
        ["none", "$9"],
      ],
    });
  });

  it("mapName() lets a star stand for one part only", () => {
    expect(mapName(mapping, "other.a.b.count", "counter")).toMatchObject({ family: "other_a_b_count", labels: [] });
  });

  it("mapName() drops what the file drops", () => {
    expect(mapName(mapping, "some.dropped", "gauge")).toBeUndefined();
    expect(mapName(mapping, "some.other.dropped", "gauge")).toBeDefined();
  });

  it("mapName() shows timers as the entry says, else as the defaults say", () => {
    expect(mapName(mapping, "app.x.y.time", "timer")).toMatchObject({
      family: "app_y_time",
      help: "How long it took",
      timer: { kind: "summary", scale: 0.001 },
    });
    expect(mapName(mapping, "other.time", "timer")?.timer).toEqual({ kind: "histogram", buckets: [1, 10], scale: 1 });
  });

  it("parseMapping() maps nothing when the file is empty", () => {
    expect(mapName(parseMapping("", "m.yaml"), "a.b", "counter")).toMatchObject({ family: "a_b" });
  });

  it.each([
    { text: "mappings: 5", problem: "mappings must be a list" },
    { text: "[]", problem: "the file must be a map" },
    { text: "mappings: [a]", problem: "mappings[0] must be a map" },
    { text: "mappings: [{name: x}]", problem: "mappings[0].match must be a pattern" },
    { text: "mappings: [{match: x}]", problem: "mappings[0].name must be the name of a metric" },
    {
      text: "mappings: [{match: x, name: 5}]",
      problem: "mappings[0].name must be a text, current value is 5; mappings[0].name must be the name of a metric",
    },
    { text: "mappings: [{match: x, name: x, lables: {}}]", problem: "mappings[0].lables is not a field of a mapping" },
    {
      text: "mappings: [{match: x, name: x, match_type: exact}]",
      problem: 'mappings[0].match_type must be one of glob, regex, current value is "exact"',
    },
    { text: "mappings: [{match: x, name: x, buckets: [2, 1]}]", problem: "mappings[0].buckets must grow" },
    { text: "mappings: [{match: x, name: x, scale: big}]", problem: 'mappings[0].scale must be a number, current value is "big"' },
    { text: "defaults: {buckets: [a]}", problem: 'defaults.buckets must be a list of numbers, current value is ["a"]' },
    { text: "mapings: []", problem: "mapings is not a field of a mapping" },
  ])("parseMapping() says '$problem' when the file is '$text'", ({ text, problem }) => {
    expect(() => parseMapping(text, "m.yaml")).toThrow(`Cannot use the mapping file m.yaml: ${problem}`);
  });

  it("parseMapping() names a regular expression that does not compile and YAML that does not parse", () => {
    expect(() => parseMapping("mappings: [{match: '(', name: x, match_type: regex}]", "m.yaml")).toThrow(
      /^Cannot use the mapping file m\.yaml: mappings\[0\]\.match must be a regular expression: /,
    );
    expect(() => parseMapping("a: [", "m.yaml")).toThrow(/^Cannot use the mapping file m\.yaml: .*line 1/);
  });
});
