// Tests of set-version.ts.
import { describe, expect, it } from "vitest";

import { contentHash, setVersion, setVersionSteps } from "./set-version.ts";

describe("setVersionSteps()", () => {
  it.each([0, 1, 1023, 1024, 1025, 5000])("gives the version of %s resources in steps that do not grow", (count) => {
    const versions = Array.from({ length: count }, (_, index) => contentHash(String(index)));
    const steps = setVersionSteps(versions);
    let taken = 0;
    for (let step = steps.next(); ; step = steps.next(), taken += 1) {
      if (step.done !== true) continue;
      expect([step.value, taken]).toEqual([setVersion(versions), Math.ceil(count / 1024)]);
      return;
    }
  });
});
