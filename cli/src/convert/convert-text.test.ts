// Tests of conversions: what is kept, what is reported, and that rules mean the same after a
// conversion and back.
import { manifestOfModel, rulesOfModel } from "@weir/crds/rate-limit-config/translate/convert";
import { readManifests } from "@weir/crds/rate-limit-config/manifest/manifest";
import { parseRuleFile } from "@weir/limits/rule-file/rule-file";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { formatProblem } from "../check/report.ts";
import { validConfig } from "@weir/limits/model/valid-config.suite";
import { convertText } from "./convert-text.ts";
import type { Conversion, ConversionOptions } from "./convert-text.ts";

const RULES = `# The shop's limits.
# Second line.
domain: shop

descriptors:
  # Per path.
  - key: path
    value: 404 # not found
    rate_limit:
      unit: MINUTE
      requests_per_unit: 10 # ten
    # nested
    descriptors:
      - key: user
        value: yes
        rate_limit: { unit: day, requests_per_unit: 1 }
        metadata: { team: a, count: 0x10, since: 2001-01-01 } # free

  - key: b
    shadow_mode: on
    rate_limit: &shared { unlimited: true, name: x }
  - key: c
    rate_limit: *shared
`;

const MANIFEST = `# The shop's limits.
# Second line.
apiVersion: ratelimit.weir.dev/v1alpha1
kind: RateLimitConfig
metadata:
  name: shop
  namespace: web
spec:
  domain: shop

  descriptors:
    # Per path.
    - key: path
      value: "404" # not found
      rateLimit:
        unit: minute
        requestsPerUnit: 10 # ten
      # nested
      descriptors:
        - key: user
          value: "yes"
          rateLimit: { unit: day, requestsPerUnit: 1 }
          metadata: { team: a, count: 0x10, since: 2001-01-01 } # free

    - key: b
      shadowMode: on
      rateLimit: &shared { unlimited: true, name: x }
    - key: c
      rateLimit: *shared
`;

/** A valid configuration of a few rules: large ones take long and find nothing more. */
const smallConfig = validConfig.filter((model) => JSON.stringify(model).length < 2000);

const OPTIONS = { to: undefined, name: undefined, namespace: undefined };

function convert(text: string, options: Partial<ConversionOptions> = {}): Conversion {
  return convertText("in.yaml", text, { ...OPTIONS, ...options });
}

/** Everything that was reported, a line each. */
function reported({ warnings, problems }: Conversion): readonly string[] {
  return [...warnings, ...problems].map(formatProblem);
}

describe("convertText()", () => {
  it("turns a rule file into a manifest, comments, order and layout included", () => {
    const conversion = convert(RULES, { namespace: "web" });
    expect(conversion.results).toEqual([{ form: "manifest", name: "shop", text: MANIFEST }]);
    expect(reported(conversion)).toEqual([]);
  });

  it("turns a manifest into a rule file, comments, order and layout included", () => {
    const conversion = convert(MANIFEST);
    expect(conversion.results[0]?.text).toBe(
      RULES.replace("value: 404", 'value: "404"')
        .replace("value: yes", 'value: "yes"')
        .replace("unit: MINUTE", "unit: minute"),
    );
    expect(reported(conversion)).toEqual([]);
  });

  it("keeps the fields of limits beyond fixed windows, comments included, there and back", () => {
    const rules = `domain: shop
descriptors:
  - key: user
    rate_limit:
      unit: minute
      unit_multiplier: 5 # windows of five minutes
      requests_per_unit: 10
      algorithm: token_bucket
      burst: 3
      count_rejected_hits: true
  - key: team
    # two
    rate_limits:
      - { name: a, unit: second, requests_per_unit: 5 } # short
      - name: b
        unit: month
        requests_per_unit: 90
        time_zone: Europe/Zurich
        month_day: 15
`;
    const there = convert(rules);
    const manifest = there.results[0]?.text ?? "";
    expect(manifest).toContain(`spec:
  domain: shop
  descriptors:
    - key: user
      rateLimit:
        unit: minute
        unitMultiplier: 5 # windows of five minutes
        requestsPerUnit: 10
        algorithm: token_bucket
        burst: 3
        countRejectedHits: true
    - key: team
      # two
      rateLimits:
        - { name: a, unit: second, requestsPerUnit: 5 } # short
        - name: b
          unit: month
          requestsPerUnit: 90
          timeZone: Europe/Zurich
          monthDay: 15
`);
    const back = convert(manifest);
    expect([...reported(there), ...reported(back)]).toEqual([]);
    expect(back.results[0]?.text).toBe(rules);
  });

  it("leaves out what a limit of a list in a manifest cannot have and says so", () => {
    const text =
      "domain: d\ndescriptors:\n  - key: k\n    rate_limits:\n      - {name: a, unit: day, unlimited: false}\n      - {name: b, unit: day, requests_per_unit: 1}\n";
    const conversion = convert(text);
    expect(reported(conversion)).toEqual([
      "in.yaml:5:30: unlimited means nothing here and is left out",
      "in.yaml:5:9: requests_per_unit is missing, which means 0: every request is rejected",
    ]);
    expect(conversion.results[0]?.text).toContain("- { name: a, unit: day, requestsPerUnit: 0 }");
  });

  it("reports with its location what the manifest of a rule file cannot have", () => {
    const text = "domain: d\nunit: day # lost\ndescriptors:\n  - key: k\n    rate_limit: {unit: day}\n";
    const conversion = convert(text);
    expect(reported(conversion)).toEqual([
      "in.yaml:2:1: unit means nothing here and is left out",
      "in.yaml:5:17: requests_per_unit is missing, which means 0: every request is rejected",
      "in.yaml: a comment could not be kept: lost",
    ]);
    expect(conversion.results[0]?.text).toContain("rateLimit: { unit: day, requestsPerUnit: 0 }");
  });

  it.each([
    { from: "manifest", text: MANIFEST.replace("key: b\n", 'key: b\n      value: ""\n'), expected: RULES },
    { from: "rules", text: RULES.replace("key: b\n", "key: b\n    value: ''\n"), expected: MANIFEST },
  ])("leaves out the empty value, which means absent, from $from", ({ text, expected }) => {
    const [result] = convert(text, { name: "shop", namespace: "web" }).results;
    expect(modelOf(result?.text ?? "")).toBe(modelOf(expected));
    expect(result?.text).toContain("# not found");
    expect(result?.text).not.toMatch(/value: (""|'')/);
  });

  it("reports with its location what the rule file of a manifest cannot have", () => {
    const text =
      "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata:\n  name: a # name\n  labels: {team: b}\nspec:\n  fleets: [edge]\n  domain: d\n";
    const conversion = convert(text);
    expect(reported(conversion)).toEqual([
      "in.yaml:5:11: metadata.labels: left out: a rule file has nothing like it",
      "in.yaml:7:11: spec.fleets: left out: a rule file is for every pod that reads it",
      "in.yaml: a comment could not be kept: name",
    ]);
    expect(conversion.results).toEqual([{ form: "rules", name: "a", text: "domain: d\n" }]);
  });

  it("writes shadow_mode at each rule with a limit of a resource in shadow mode", () => {
    const head =
      "apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: a}\nspec:\n  domain: d\n  shadowMode: true # now\n";
    const conversion = convert(
      `${head}  descriptors:\n    - key: k # all\n      descriptors:\n        - key: i\n          rateLimit: {unit: day, requestsPerUnit: 1}\n          shadowMode: false\n        - key: j\n          rateLimit: {unit: day, requestsPerUnit: 2}\n`,
    );
    expect(reported(conversion)).toEqual([
      "in.yaml:6:15: spec.shadowMode: left out: in a rule file each rule with a limit has shadow_mode in place of it",
      "in.yaml: a comment could not be kept: now",
    ]);
    expect(conversion.results[0]?.text).toBe(`domain: d
descriptors:
  - key: k # all
    descriptors:
      - key: i
        rate_limit: { unit: day, requests_per_unit: 1 }
        shadow_mode: true
      - key: j
        rate_limit: { unit: day, requests_per_unit: 2 }
        shadow_mode: true
`);
  });

  it("rejects rules that a manifest cannot express, at the location of the rule", () => {
    const deep = `${"{key: k, descriptors: [".repeat(6)}{key: k}${"]}".repeat(6)}`;
    const long = "k".repeat(257);
    const conversion = convert(`domain: d\ndescriptors:\n  - key: ${long}\n  - ${deep}\n  - key: "a\\0"\n`);
    expect(conversion.results).toEqual([]);
    expect(reported(conversion).map((line) => line.slice(0, 150))).toEqual([
      `in.yaml:3:10: descriptors[0].key: a manifest cannot express this: must have at most 256 characters, is "${"k".repeat(46)}`,
      "in.yaml:4:142: descriptors[1].descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors[0].descriptors: a manifest cannot express this: rules".slice(0, 150), // prettier-ignore
      'in.yaml:5:10: descriptors[2].key: a manifest cannot express this: must not contain the control character U+0000, is "a\\u0000"',
    ]);
  });

  it.each([
    { text: "domain: ''\n", line: "in.yaml:1:9: domain: config file cannot have empty domain" },
    { text: "domain: d\nrate: 5\n", line: "in.yaml:2:1: config error, unknown key 'rate'" },
    { text: "domain: [\n", line: "in.yaml:2:1: error loading config file: yaml: line 2: " },
    {
      text: MANIFEST.replace("minute", "moment"),
      line: "in.yaml:16:15: spec.descriptors[0].rateLimit.unit: must be one of ",
    },
  ])("rejects invalid input: $line", ({ text, line }) => {
    const conversion = convert(text);
    expect(conversion.results).toEqual([]);
    expect(reported(conversion)[0]?.startsWith(line)).toBe(true);
  });

  it.each([
    { text: RULES, to: "rules" as const, line: "in.yaml:1:1: holds rules already" },
    { text: MANIFEST, to: "manifest" as const, line: "in.yaml:1:1: holds manifests already" },
  ])("rejects an input that is in the form $to already", ({ text, to, line }) => {
    expect(reported(convert(text, { to }))).toEqual([line]);
  });

  it("writes rules anew, and reports which comments are lost, when YAML cannot keep the layout", () => {
    // Merged fields have to be written out: manifests know no merge keys.
    const text =
      "domain: d # one\ndescriptors:\n  - &a {key: a, rate_limit: {unit: day, requests_per_unit: 1}}\n  - {<<: *a, key: b}\n";
    const conversion = convert(text);
    expect(reported(conversion).filter((line) => line.includes("comment"))).toEqual([
      "in.yaml: a comment could not be kept: one",
    ]);
    expect(readManifests(conversion.results[0]?.text ?? "")[0]?.resource?.spec.descriptors).toEqual([
      { key: "a", rateLimit: { unit: "day", requestsPerUnit: 1 } },
      { key: "b", rateLimit: { unit: "day", requestsPerUnit: 1 } },
    ]);
  });

  it("converts each item of a list, and each document", () => {
    const one = (name: string): string =>
      `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: ${name}}\nspec: {domain: ${name}}\n`;
    const item = (name: string): string => `  - ${one(name).trimEnd().replaceAll("\n", "\n    ")}\n`;
    const list = `apiVersion: v1\nkind: List\nitems:\n${item("c")}${item("d")}`;
    const { results } = convert(`${one("a")}---\n---\n${one("b")}---\n${list}`);
    expect(results.map(({ name, text }) => `${name}: ${text.trim()}`)).toEqual([
      "a: { domain: a }",
      "b: { domain: b }",
      "c: { domain: c }",
      "d: { domain: d }",
    ]);
  });

  it("converts each item of a list that has a spec in addition to its items, as readManifests() does", () => {
    const item = (name: string): string =>
      `  - apiVersion: ratelimit.weir.dev/v1alpha1\n    kind: RateLimitConfig\n    metadata: {name: ${name}}\n    spec:\n      domain: ${name} # ${name}\n`;
    const conversion = convert(`---\n---\napiVersion: v1\nkind: List\nspec: {}\nitems:\n${item("a")}${item("b")}`);
    expect(conversion.results.map(({ text }) => text)).toEqual(["domain: a # a\n", "domain: b # b\n"]);
    expect(reported(conversion)).toEqual([]);
  });

  // Parsing the text once for each manifest would take longer than the time limit.
  it("converts many manifests of one text in time that grows with the text, not with its square", () => {
    const rules = Array.from(
      { length: 20 },
      (_, index) => `    - key: k${index} # each\n      rateLimit: {unit: day, requestsPerUnit: 5}\n`,
    ).join("");
    const one = (name: string): string =>
      `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: ${name}}\nspec:\n  domain: ${name}\n  descriptors:\n${rules}`;
    const { results } = convert(Array.from({ length: 40 }, (_, index) => one(`n${index}`)).join("---\n"));
    expect(results.map(({ name }) => name)).toEqual(Array.from({ length: 40 }, (_, index) => `n${index}`));
    expect(results[39]?.text).toContain("  - key: k11 # each\n");
  });

  it("reports which comments of several documents are lost", () => {
    const one = (name: string): string =>
      `apiVersion: ratelimit.weir.dev/v1alpha1\nkind: RateLimitConfig\nmetadata: {name: ${name}} # name of ${name}\nspec:\n  domain: ${name} # domain of ${name}\n`;
    const conversion = convert(`${one("a")}---\n${one("b")}`);
    expect(conversion.results.map(({ text }) => text)).toEqual([
      "domain: a # domain of a\n",
      "domain: b # domain of b\n",
    ]);
    expect(reported(conversion)).toEqual([
      "in.yaml: a comment could not be kept: name of a",
      "in.yaml: a comment could not be kept: name of b",
    ]);
  });

  it.each([
    { domain: "Shop Front/v2", name: "shop-front-v2" },
    { domain: "--", name: "in" },
    { domain: "d".repeat(70), name: "d".repeat(63) },
  ])("names the manifest of $domain $name", ({ domain, name }) => {
    expect(convert(`domain: ${JSON.stringify(domain)}\n`).results[0]?.name).toBe(name);
  });

  it("returns the same rules after a conversion to a manifest and back", () => {
    const seen = { converted: 0 };
    fc.assert(
      fc.property(smallConfig, (model) => {
        const there = convert(rulesOfModel(model));
        const manifest = there.results[0]?.text;
        if (manifest === undefined) return;
        seen.converted += 1;
        const back = parseRuleFile("x", convert(manifest).results[0]?.text ?? "");
        const meant = parseRuleFile("x", rulesOfModel(model));
        if (!back.ok || !meant.ok) throw new Error("The rules cannot be read");
        expect(lowered(back.model)).toEqual(lowered(meant.model));
      }),
      { numRuns: 25, seed: 7 },
    );
    expect(seen.converted).toBeGreaterThan(20);
  });

  it("returns the same rules after a conversion to a rule file and back", () => {
    const seen = { converted: 0 };
    fc.assert(
      fc.property(smallConfig, (model) => {
        const text = manifestOfModel(model, { name: "x", namespace: "web" });
        const there = convert(text).results[0]?.text;
        // Metadata may nest deeper than a manifest can say.
        if (there === undefined) return;
        seen.converted += 1;
        const back = convert(there, { name: "x", namespace: "web" }).results[0]?.text ?? "";
        expect(readManifests(back)[0]?.resource).toEqual(readManifests(text)[0]?.resource);
      }),
      { numRuns: 25, seed: 8 },
    );
    expect(seen.converted).toBeGreaterThan(20);
  });

  it.each(["rules", "manifest"] as const)("keeps every comment of %s, or reports that it is lost", (form) => {
    const seen = { kept: 0, lost: 0 };
    fc.assert(
      fc.property(smallConfig, fc.array(fc.constantFrom(0, 1, 2), { minLength: 5, maxLength: 9 }), (model, picks) => {
        const plain = form === "rules" ? rulesOfModel(model) : manifestOfModel(model, { name: "x" });
        const text = commented(plain, picks);
        const meant = convert(plain).results[0]?.text;
        const conversion = convert(text);
        const [result] = conversion.results;
        // A comment in the middle of a text that goes over several lines is a part of it.
        if (meant === undefined || result === undefined || modelOf(result.text) !== modelOf(meant)) return;
        const lost = reported(conversion).join("\n");
        for (const [, comment = ""] of text.matchAll(/# (c\d+|end)$/gm)) {
          const isKept = new RegExp(`# ?${comment}$`, "m").test(result.text);
          const isTold = new RegExp(`a comment could not be kept: ${comment}$`, "m").test(lost);
          expect({ comment, isKept, isTold: isKept ? false : isTold }).toEqual({ comment, isKept, isTold: !isKept });
          seen[isKept ? "kept" : "lost"] += 1;
        }
      }),
      { numRuns: 25, seed: 9 },
    );
    expect(seen.kept).toBeGreaterThan(100);
    expect(seen.kept).toBeGreaterThan(3 * seen.lost);
  });
});

/** The rules in a text of either form, as JSON. */
function modelOf(text: string): string {
  const [manifest] = readManifests(text);
  if (manifest?.resource !== undefined) return JSON.stringify(manifest.resource.spec);
  const file = parseRuleFile("x", text);
  return file.ok ? JSON.stringify(lowered(file.model)) : "";
}

/**
 * The text with a comment behind many of its lines and above others, numbered. Lines inside of
 * texts are a matter of the caller.
 */
function commented(text: string, picks: readonly number[]): string {
  return text
    .trimEnd()
    .split("\n")
    .map((line, index) => {
      const pick = picks[index % picks.length] ?? 0;
      if (pick === 0) return line;
      return pick === 1 ? `${line} # c${index}` : `${/^ */.exec(line)?.[0] ?? ""}# c${index}\n${line}`;
    })
    .join("\n")
    .concat("\n# end\n");
}

/** Units have no letter case; a manifest has them in lower case. */
function lowered(model: unknown): unknown {
  return JSON.parse(JSON.stringify(model), (key, value: unknown) =>
    key === "unit" ? String(value).toLowerCase() : value,
  );
}
