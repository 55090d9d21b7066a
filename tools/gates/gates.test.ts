// How gates run and what is said of them; the gates themselves have tests of their own.
import { describe, expect, it } from "vitest";
import { formatGateResult, listGates, runGates } from "./gates.ts";

const PASSING = { name: "passing", command: ["true"] };
const FAILING = { name: "failing", command: ["sh", "-c", "echo a; echo b; exit 1"] };

describe("runGates()", () => {
  it("runs every gate to its end when one fails, and reports each once", async () => {
    const reported: string[] = [];
    const results = await runGates([FAILING, PASSING, PASSING], (result) => reported.push(result.gate.name));
    expect(results.map(({ gate, code }) => [gate.name, code]).toSorted()).toEqual([
      ["failing", 1],
      ["passing", 0],
      ["passing", 0],
    ]);
    expect(reported.toSorted()).toEqual(["failing", "passing", "passing"]);
  });
});

describe("formatGateResult()", () => {
  it("gives one line with the time when the gate passed", () => {
    expect(formatGateResult({ gate: PASSING, code: 0, durationMs: 1234, output: "chatter" })).toBe(
      "ok    passing                1.2 s",
    );
  });

  it("adds what the gate said, indented, when it failed", () => {
    expect(formatGateResult({ gate: FAILING, code: 1, durationMs: 60_000, output: "a\n\nb\n" }).split("\n")).toEqual([
      "FAIL  failing               60.0 s",
      "        a",
      "",
      "        b",
    ]);
  });
});

describe("listGates()", () => {
  it("looks at everything afresh when it may not use what it remembers", () => {
    expect(listGates({ cache: false }).find((gate) => gate.name === "lint")?.command).toEqual([
      "eslint",
      "--max-warnings=0",
      ".",
    ]);
  });

  it("gives every gate a name of its own", () => {
    const names = listGates({ cache: true }).map((gate) => gate.name);
    expect(new Set(names).size).toBe(names.length);
  });
});
