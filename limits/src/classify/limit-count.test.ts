// Tests of limit-count.ts that no case of counting has.
import { describe, expect, it } from "vitest";

import { emptyCell } from "../cell/cell.ts";
import { cellRuleOf } from "../cell/cell-rule.ts";
import { CASES_BEGIN_SECONDS } from "../cell/limit-cases.suite.ts";
import { limit } from "../rules/configuration.suite.ts";
import { cellCount } from "./limit-count.ts";

describe("cellCount()", () => {
  it.each(["sliding_window", "token_bucket"])("lets no hit pass now of a limit of 0 by %s", (algorithm) => {
    const rule = cellRuleOf([
      {
        model: limit(0, "minute", { algorithm }),
        limit: { requestsPerUnit: 0, unit: 2, name: "" },
        windowSeconds: 60,
        calendar: undefined,
      },
    ])!;
    const count = cellCount(rule.limits[0]!, emptyCell(rule), 0, CASES_BEGIN_SECONDS * 1000);
    expect(count).toMatchObject({ capacity: 0, hits: 0, remaining: 0 });
    expect(count.retrySeconds).toBeGreaterThan(0);
  });
});
