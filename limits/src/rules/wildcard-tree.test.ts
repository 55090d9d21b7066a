// Tests of the steps in which the tree of patterns is built; matching has its tests with the rules.
import { expect, it } from "vitest";

import { mostInOneStep } from "../model/most-in-one-step.suite.ts";
import { wildcardTreeSteps } from "./wildcard-tree.ts";
import { compileWildcard } from "./wildcard.ts";

it("wildcardTreeSteps() plants few of many patterns in each step", () => {
  let planted = 0;
  const nodes = Array.from({ length: 1000 }, (_, index) => {
    const wildcard = compileWildcard("path", `/${index}/*`)!;
    return {
      wildcard: {
        ...wildcard,
        get pieces() {
          planted += 1;
          return wildcard.pieces;
        },
      },
    };
  });
  expect(mostInOneStep(wildcardTreeSteps(nodes), () => planted)).toBe(1);
  expect(planted).toBe(1000);
});
