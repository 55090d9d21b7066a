// Mapping files: how they map names, and invalid ones.
import { describe, expect, it } from "vitest";
import { mapName, sanitizeName } from "./mapping.ts";
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
  labels: {kind: $1, rest: "\${2}", none: $9, named: "$kind-$$1", longest: $1x}
- match: "*.dropped"
  action: drop
- match: tagged.*
  name: tagged
  labels: {code: "$1", kind: mapped}
- match: honest.*
  name: honest
  honor_labels: true
  labels: {code: "$1", kind: mapped}
- match: nameless.*
  match_type: regex
  name: $7
- match: "app.*.*.time"
  name: "app_\${2}_time"
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

  it("mapName() takes a glob before a regular expression above it", () => {
    expect(mapName(mapping, "app.a.count", "counter")).toMatchObject({
      family: "app_count",
      labels: [["part", "a"]],
      scale: 1,
    });
  });

  it("mapName() continues with regular expressions when the kind does not fit, and leaves groups empty that do not exist", () => {
    expect(mapName(mapping, "app.a.count", "gauge")).toMatchObject({
      family: "by_regex",
      labels: [
        ["kind", "a"],
        ["rest", "count"],
        ["none", ""],
        ["named", "a-$1"],
        ["longest", ""],
      ],
    });
  });

  it("mapName() matches one part only with a star", () => {
    expect(mapName(mapping, "other.a.b.count", "counter")).toMatchObject({ family: "other_a_b_count", labels: [] });
  });

  it("mapName() drops what the file drops", () => {
    expect(mapName(mapping, "some.dropped", "gauge")).toBeUndefined();
    expect(mapName(mapping, "some.other.dropped", "gauge")).toBeDefined();
  });

  it("mapName() drops what would have no name", () => {
    expect(mapName(mapping, "nameless.one", "counter")).toBeUndefined();
  });

  it("mapName() maps a name with tags without them, and lets them win over labels only when the entry says so", () => {
    const extra = new Map([["team", "x"]]);
    const labelsOf = (name: string) => Object.fromEntries(mapName(mapping, name, "counter", extra)?.labels ?? []);
    expect(labelsOf("tagged.a.__kind=own.__zone=z")).toEqual({ code: "a", kind: "mapped", zone: "z", team: "x" });
    expect(labelsOf("honest.a.__kind=own.__team=y")).toEqual({ code: "a", kind: "own", team: "y" });
    expect(mapName(mapping, "app.a.b.__x=y", "gauge", extra)?.labels).toContainEqual(["rest", "b.__x=y"]);
  });

  it.each([
    { isOrdered: true, family: "first" },
    { isOrdered: false, family: "third" },
  ])("mapName() takes the $family glob when their order counts: $isOrdered", ({ isOrdered, family }) => {
    const text = `{defaults: {glob_disable_ordering: ${!isOrdered}}, mappings: [{match: "*.b", name: first}, {match: "*.*", name: second}, {match: "a.*", name: third}]}`;
    expect(mapName(parseMapping(text, "m.yaml"), "a.b", "counter")?.family).toBe(family);
  });

  it.each([
    { name: "a--b---c", clean: "a_b_c" },
    { name: "a-b.é\u{1f600}", clean: "a_b___" },
    { name: "1st", clean: "_1st" },
  ])("sanitizeName() makes $clean of $name", ({ name, clean }) => {
    expect(sanitizeName(name)).toBe(clean);
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
    { text: "mappings: [{match: a.b*, name: x}]", problem: "mappings[0].match must be a pattern" },
    { text: "mappings: [{match: 1.b, name: x}]", problem: "mappings[0].match must be a pattern" },
    { text: "mappings: [{match: x, name: a-b}]", problem: "mappings[0].name must be the name of a metric" },
    {
      text: "mappings: [{match: x, name: x, labels: {a: b}}]",
      problem: 'mappings[0].labels must have names of two or more letters, digits and underscores, one is "a"',
    },
    {
      text: "mappings: [{match: x, name: x, summary_options: {}, histogram_options: {}}]",
      problem: "mappings[0].summary_options cannot be combined with histogram_options",
    },
    {
      text: "mappings: [{match: x, name: x, honor_labels: 1}]",
      problem: "mappings[0].honor_labels must be true or false, current value is 1",
    },
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
    {
      text: "mappings: [{match: x, name: x, scale: big}]",
      problem: 'mappings[0].scale must be a number, current value is "big"',
    },
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
