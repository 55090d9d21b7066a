// Compares the reader of rule files with gopkg.in/yaml.v2, whose program is in oracle/go-yaml: both accept and refuse the same
// files, with the same result.
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";

import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";

import { randomRuleFile } from "./random-rule-file.suite.ts";
import { parseRuleFile } from "./rule-file.ts";

const BUILD_SCRIPT = fileURLToPath(new URL("../../../tools/build-oracle.sh", import.meta.url));
const ORACLE = fileURLToPath(new URL("../../oracle/go-yaml", import.meta.url));

/** Longest time of a build, in milliseconds, and of a test. */
const TIMEOUT_MS = 120_000;

/** Largest output of the program, in bytes. */
const OUTPUT_MAX_BYTES = 256 * 1024 * 1024;

const FILES = { numRuns: 5_000, seed: 20_261_122 };

interface Answer {
  readonly refusedBy?: string;
  readonly reason?: string;
  readonly root?: unknown;
}

let program: string;
beforeAll(() => {
  program = execFileSync("sh", [BUILD_SCRIPT, ORACLE], { encoding: "utf8" }).trim();
}, TIMEOUT_MS);

/** The answers of yaml.v2, one for each text. */
function goYaml(texts: readonly string[]): readonly Answer[] {
  const input = texts.map((text) => `${JSON.stringify(text)}\n`).join("");
  const output = execFileSync(program, { input, encoding: "utf8", maxBuffer: OUTPUT_MAX_BYTES });
  return output
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Answer);
}

function ours(text: string): unknown {
  const file = parseRuleFile("f", text);
  if (!file.ok) return "refused";
  const { name: _name, ...rules } = file.model;
  return JSON.parse(JSON.stringify(rules)) as unknown;
}

const RULE = "domain: d\ndescriptors:\n- key: k\n  ";

describe("parseRuleFile() and yaml.v2", () => {
  it.each([
    { what: "a domain twice", text: "domain: a\ndomain: b\n" },
    {
      what: "a limit twice",
      text: `${RULE}rate_limit: {unit: day, requests_per_unit: 5}\n  rate_limit: {unit: hour}\n`,
    },
    {
      what: "a limit, null and a limit",
      text: `${RULE}rate_limit: {unit: day}\n  rate_limit: ~\n  rate_limit: {name: n}\n`,
    },
    { what: "a limit and NULL", text: `${RULE}rate_limit: {unit: day}\n  rate_limit: NULL\n` },
    { what: "a quoted null as a limit", text: `${RULE}rate_limit: 'null'\n` },
    { what: "a list twice", text: "domain: d\ndescriptors: [{key: a, value: b}]\ndescriptors: [{key: c}]\n" },
    { what: "replaces twice", text: `${RULE}rate_limit: {replaces: [{name: a}, {name: b}], replaces: [{}]}\n` },
    { what: "metadata twice", text: `${RULE}metadata: {a: {x: 1, y: 2}, b: 1}\n  metadata: {a: {z: 3}, c: 1}\n` },
    { what: "metadata, null and metadata", text: `${RULE}metadata: {a: 1}\n  metadata:\n  metadata: {b: 1}\n` },
    {
      what: "an unknown key in a value that is replaced",
      text: "domain: d\ndescriptors: [{unknown: 1}]\ndescriptors: []\n",
    },
    { what: "an unknown key in the last value", text: "domain: d\ndescriptors: []\ndescriptors: [{unknown: 1}]\n" },
    { what: "a value of a wrong type that is replaced", text: "domain: [a]\ndomain: d\n" },
    { what: "a list of texts that is replaced", text: "domain: d\ndescriptors: [a]\ndescriptors: []\n" },
    { what: "a list of nulls that is replaced", text: "domain: d\ndescriptors: [~]\ndescriptors: []\n" },
    {
      what: "a fraction that is replaced",
      text: `${RULE}rate_limit: {requests_per_unit: 1.5, requests_per_unit: 2}\n`,
    },
    {
      what: "a negative fraction that is replaced",
      text: `${RULE}rate_limit: {requests_per_unit: -0.5, requests_per_unit: 2}\n`,
    },
    {
      what: "a negative number that is replaced",
      text: `${RULE}rate_limit: {requests_per_unit: -1, requests_per_unit: 2}\n`,
    },
    {
      what: "a fraction that is replaced by null",
      text: `${RULE}rate_limit: {requests_per_unit: 1.5, requests_per_unit: }\n`,
    },
    {
      what: "a number of more than 64 bits that is replaced",
      text: `${RULE}value: 99999999999999999999\n  value: x\n`,
    },
    {
      what: "a limit that is merged in and written",
      text: `unit: &l {unit: day, requests_per_unit: 5}\n${RULE}rate_limit: {name: n, <<: *l, unit: hour}\n`,
    },
    {
      what: "a rule that is merged in, with limits on both sides",
      text: `unit: &r {rate_limit: {unit: day, name: n}}\n${RULE}<<: *r\n  rate_limit: {unit: hour}\n`,
    },
    { what: "a merge of an alias to a list", text: `unit: &r [{name: n}]\n${RULE}<<: *r\n` },
    { what: "a merge key twice", text: `${RULE}<<: {value: a}\n  <<: {value: b}\n` },
    { what: "a key in another spelling", text: "domain: a\n'domain': b\n" },
    { what: "keys that are equal numbers", text: "domain: a\n1: a\n0x1: b\n" },
    { what: "escapes of a pair of surrogates", text: 'domain: "\\ud83d\\ude00"\n' },
    { what: "an underscore in a fraction", text: "domain: d\nkey: .5_0\n" },
    { what: "a byte order mark inside", text: "domain: a\ufeffb\n" },
    { what: "an empty text", text: "" },
    { what: "a second document", text: "domain: d\n---\n[\n" },
  ])("agree on $what", ({ text }) => {
    const [answer] = goYaml([text]);
    expect(ours(text)).toEqual(answer?.root ?? "refused");
  });

  it(`agree on ${FILES.numRuns} random files (seed ${FILES.seed})`, { timeout: TIMEOUT_MS }, () => {
    const texts = fc.sample(randomRuleFile, FILES);
    const answers = goYaml(texts);
    const counts = { accepted: 0, yaml: 0, keys: 0, types: 0 };
    const disagreements: string[] = [];
    for (const [index, text] of texts.entries()) {
      const { root, refusedBy = "accepted", reason } = answers[index] ?? {};
      counts[refusedBy as keyof typeof counts] += 1;
      const [theirs, our] = [JSON.stringify(sorted(root ?? "refused")), JSON.stringify(sorted(ours(text)))];
      if (theirs !== our) disagreements.push(`${text}\nyaml.v2: ${reason ?? theirs}\nours: ${our}`);
    }
    expect(disagreements.slice(0, 3)).toEqual([]);
    // Files that all came to the same end would prove little.
    for (const [end, count] of Object.entries(counts)) expect(count, end).toBeGreaterThan(FILES.numRuns / 50);
  });
});

/** The value with the fields of its objects in one order, so that texts of it can be compared. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).map(([name, inner]): [string, unknown] => [name, sorted(inner)]);
  return Object.fromEntries(entries.sort(([left], [right]) => (left < right ? -1 : 1)));
}
