// Tests of the age of connections.
import { expect, it } from "vitest";

import { connectionAgeMs } from "./connection-age.ts";

it.each([
  [60_000, 0, 54_000],
  [60_000, 0.5, 60_000],
  [60_000, 0.75, 63_000],
  [Infinity, 0.3, Infinity],
])("connectionAgeMs(%d, %d) is %d", (ageMs, random, expected) => {
  expect(connectionAgeMs(ageMs, random)).toBeCloseTo(expected);
});
