import { expect, it } from "vitest";

import { hasAsRendered } from "./drift.ts";

it.each([
  { what: "the same", rendered: { a: 1 }, actual: { a: 1 }, is: true },
  { what: "a further field", rendered: { a: 1 }, actual: { a: 1, b: 2 }, is: true },
  { what: "another value", rendered: { a: 1 }, actual: { a: 2 }, is: false },
  { what: "a field less", rendered: { a: 1, b: 2 }, actual: { a: 1 }, is: false },
  { what: "no mapping", rendered: { a: {} }, actual: { a: 1 }, is: false },
  {
    what: "a further named element",
    rendered: [{ name: "x", v: 1 }],
    actual: [{ name: "w" }, { name: "x", v: 1 }],
    is: true,
  },
  { what: "a changed named element", rendered: [{ name: "x", v: 1 }], actual: [{ name: "x", v: 2 }], is: false },
  { what: "a missing named element", rendered: [{ name: "x" }], actual: [{ name: "y" }], is: false },
  { what: "a further text", rendered: ["ALL"], actual: ["ALL", "NET"], is: false },
  { what: "an empty list that has grown", rendered: [], actual: [1], is: false },
  {
    what: "quantities of the same amount",
    rendered: { resources: { cpu: "0.5", memory: "1024Mi" } },
    actual: { resources: { cpu: "500m", memory: "1Gi" } },
    is: true,
  },
  { what: "other quantities", rendered: { resources: { cpu: 1 } }, actual: { resources: { cpu: "2" } }, is: false },
  {
    what: "a quantity that is a number",
    rendered: { resources: { cpu: 1 } },
    actual: { resources: { cpu: "1" } },
    is: true,
  },
  { what: "texts that look like quantities", rendered: { value: "1000m" }, actual: { value: "1" }, is: false },
])("hasAsRendered() is $is with $what", ({ rendered, actual, is }) => {
  expect(hasAsRendered(actual, rendered)).toBe(is);
});
