// Broken rule files by the hundred thousand: whatever the bytes are, a file is read or refused, and
// that soon. A throw would end the process.
import { findSetProblems } from "@weir/limits/validate/validate";
import { mutate } from "@weir/harness/processes/mutation";
import { Random } from "@weir/harness/processes/random";
import { describe, expect, it } from "vitest";

import { compileRules } from "@weir/limits/rules/compile";
import { attachKeys } from "@weir/limits/rules/configuration.suite";
import { parseRuleFile } from "@weir/limits/rule-file/rule-file";

const INPUTS = 30_000;

/** Printed in the name of the test; any other number makes other inputs. */
const SEED = 20_261_122;

/** Longest input, in bytes. */
const LENGTH_MAX = 300;

/**
 * Longest time of the processor that one input may take, in microseconds: hundreds of times what the
 * slowest takes.
 */
const INPUT_MAX_US = 5_000_000;

/**
 * Longest time of the test, in milliseconds: about three seconds on a machine that does nothing
 * else.
 */
const TIMEOUT_MS = 180_000;

const GOOD = [
  "domain: d\ndescriptors:\n  - key: a\n    value: b*\n    shadow_mode: yes\n    rate_limit:\n      unit: minute\n      requests_per_unit: 0x10\n",
  "domain: d\ndescriptors: [{key: a, rate_limit: {unlimited: true, name: n, replaces: [{name: m}]}}, {key: 'b', value: \"c\\x41\"}]\n",
  "x: &x\n  key: k\n  metadata: {a: [1, 2.5, null, {b: .inf}], ? q : r}\ndomain: d\ndescriptors:\n- <<: *x\n  value: 1\n- <<: [*x, *x]\n",
  "%YAML 1.1\n---\ndomain: |\n  d\ndescriptors:\n  - key: >-\n      folded\n      text\n    share_threshold: !!bool true\n...\n---\nsecond: document\n",
  '"domain": !!str 12\n# comment\ndescriptors: !!seq\n  - !!map {key: !!binary YQ==, value: ~, rate_limit: !local {unit: DAY, requests_per_unit: 017}}\n',
].map((text) => Buffer.from(text));

const TOKENS = [
  ...Array.from("{}[],:?-&*!|>'\"%@`#~<=\n\t \\_"),
  "\r\n",
  "\u2028",
  "\ufeff",
  "\0",
  "<<: ",
  "*x",
  "&x ",
  "- ",
  "? ",
  ": ",
  "[[",
  "{{",
  "key: ",
  "domain: ",
  "descriptors: ",
  "metadata: ",
  "__proto__: ",
  "1e999",
  "-0x8000000000000000",
  "18446744073709551616",
  "!!binary ",
  "!!int ",
  "!!float ",
  "!!merge ",
  "---\n",
  "...\n",
  "%TAG ! tag:x,2000:\n",
  "💧",
].map((text) => Buffer.from(text));

describe("parseRuleFile", () => {
  it(
    `reads or refuses ${INPUTS} broken files, each with a text and a place (seed ${SEED})`,
    { timeout: TIMEOUT_MS },
    () => {
      const random = new Random(SEED);
      const seen = { good: 0, refused: 0, invalid: 0, slowestUs: 0 };
      for (let index = 0; index < INPUTS; index++) {
        const bytes =
          random.below(10) < 3
            ? random.bytes(random.between(0, LENGTH_MAX))
            : mutate(random, random.pick(GOOD), random.between(1, 8), TOKENS).subarray(0, LENGTH_MAX);
        const text = bytes.toString(random.oneIn(2) ? "utf8" : "latin1");
        const began = process.threadCpuUsage();
        try {
          seen[readAll(text)] += 1;
        } catch (cause) {
          throw new Error(`input ${index} of seed ${SEED} failed: ${JSON.stringify(text)}`, { cause });
        }
        const { user, system } = process.threadCpuUsage(began);
        seen.slowestUs = Math.max(seen.slowestUs, user + system);
      }
      expect(seen.slowestUs).toBeLessThan(INPUT_MAX_US);
      // Inputs that all came to the same end would prove little.
      for (const end of ["good", "refused", "invalid"] as const) expect(seen[end], end).toBeGreaterThan(INPUTS / 250);
    },
  );
});

/** Does with a text what a load does, and checks what every refusal must have. */
function readAll(text: string): "good" | "refused" | "invalid" {
  const file = parseRuleFile("f.yaml", text);
  if (!file.ok) {
    if (!file.message.startsWith("f.yaml: ")) throw new Error(file.message);
    checkLocation(file.at?.line, file.at?.column);
    return "refused";
  }
  const [problem] = findSetProblems([file.model], { mergeDomains: false });
  if (problem !== undefined) {
    const { line, column } = file.locationOf(problem.path);
    checkLocation(line, column);
    return "invalid";
  }
  compileRules([file.model], attachKeys).dump();
  return "good";
}

function checkLocation(line: number | undefined, column: number | undefined): void {
  if (line === undefined || column === undefined || !(line >= 1) || !(column >= 1))
    throw new Error(`at ${line}:${column}`);
}
