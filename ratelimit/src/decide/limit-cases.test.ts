// Limits beyond plain counts over memory counters.
import { describe } from "vitest";
import { MemoryCounter } from "../counters/memory/memory-counter.ts";
import { testLimitCases } from "./limit-cases.suite.ts";

describe("decide() over memory", () => {
  const counter = new MemoryCounter({ maxKeys: 1000 });
  testLimitCases(() => counter);
});
