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
  {
    what: "milli and a fraction",
    rendered: { resources: { cpu: "0.009" } },
    actual: { resources: { cpu: "9m" } },
    is: true,
  },
  { what: "an exponent", rendered: { metrics: [{ value: "1e3" }] }, actual: { metrics: [{ value: "1k" }] }, is: true },
  {
    what: "quantities of a metric",
    rendered: { metrics: [{ type: "Pods", pods: { target: { averageValue: "0.5" } } }] },
    actual: { metrics: [{ type: "Pods", pods: { target: { averageValue: "500m" } } }] },
    is: true,
  },
  { what: "a divisor", rendered: { divisor: "1024Ki" }, actual: { divisor: "1Mi" }, is: true },
  {
    what: "two metrics of one type",
    rendered: {
      metrics: [
        { type: "External", at: 1 },
        { type: "External", at: 2 },
      ],
    },
    actual: {
      metrics: [
        { type: "External", at: 1 },
        { type: "External", at: 2 },
      ],
    },
    is: true,
  },
  // Values that say nothing are not stored.
  { what: "an empty text that is left out", rendered: { value: "" }, actual: {}, is: true },
  { what: "null that is left out", rendered: { value: null }, actual: {}, is: true },
  { what: "null that has a default", rendered: { value: null }, actual: { value: 1 }, is: true },
  { what: "an empty list that is left out", rendered: { values: [] }, actual: {}, is: true },
  { what: "an empty mapping that is left out", rendered: { nodeSelector: {} }, actual: {}, is: true },
  { what: "an empty selector, which means all", rendered: { podSelector: {} }, actual: {}, is: false },
  { what: "a selector", rendered: { selector: { a: "b" } }, actual: { selector: { a: "b" } }, is: true },
  {
    what: "a further label in a selector",
    rendered: { selector: { a: "b" } },
    actual: { selector: { a: "b", c: "d" } },
    is: false,
  },
  {
    what: "a further expression in a selector",
    rendered: { podSelector: { matchLabels: { a: "b" } } },
    actual: { podSelector: { matchLabels: { a: "b" }, matchExpressions: [{ key: "c", operator: "Exists" }] } },
    is: false,
  },
  {
    what: "a selector without its empty labels",
    rendered: { labelSelector: { matchLabels: {} } },
    actual: { labelSelector: {} },
    is: true,
  },
  { what: "an empty text that has become another", rendered: { value: "" }, actual: { value: "x" }, is: false },
  { what: "texts that look like quantities", rendered: { value: "1000m" }, actual: { value: "1" }, is: false },
])("hasAsRendered() is $is with $what", ({ rendered, actual, is }) => {
  expect(hasAsRendered(actual, rendered)).toBe(is);
});
