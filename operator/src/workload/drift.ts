// Checks that an object of the cluster still has what the operator has applied. Fields of others do not count.
import { mappingOf } from "@weir/kubernetes/mapping";

/** Fields by which the elements of a list are told apart, wherever others may add elements. */
const LIST_KEYS = ["name", "uid"] as const;

/** The fields in which texts may be quantities, which the API server rewrites: 0.5 becomes 500m. */
const QUANTITIES: ReadonlySet<string> = new Set(["resources", "metrics", "behavior", "divisor"]);

/**
 * The fields that select by labels. One label more selects less, often nothing, and none at all selects
 * everything, so they must be the same; the API takes them as a whole too.
 */
const SELECTORS: ReadonlySet<string> = new Set(["selector", "podSelector", "namespaceSelector", "labelSelector"]);

/** Factors of the units of quantities. */
const FACTORS: Readonly<Record<string, number>> = {
  ...{ "": 1, n: 1e-9, u: 1e-6, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15, E: 1e18 },
  ...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40, Pi: 2 ** 50, Ei: 2 ** 60 },
};

/**
 * Returns true if everything that `rendered` says is in `actual`: mappings may have further fields, and
 * lists of named elements further elements, but selectors no further label. Empty texts, lists and
 * mappings say nothing, and the API server leaves them out; in place of null it puts the default.
 */
export function hasAsRendered(actual: unknown, rendered: unknown): boolean {
  return isIn(actual, rendered, (left, right) => left === right);
}

type AreEqual = (left: unknown, right: unknown) => boolean;

function isIn(actual: unknown, rendered: unknown, areEqual: AreEqual): boolean {
  if (Array.isArray(rendered)) return Array.isArray(actual) && hasElements(actual, rendered, areEqual);
  const fields = mappingOf(rendered);
  if (fields === undefined) return areEqual(actual, rendered);
  const present = mappingOf(actual);
  if (present === undefined) return false;
  return Object.entries(fields).every(
    ([name, value]) =>
      value === null ||
      (present[name] === undefined && isEmpty(value) && !SELECTORS.has(name)) ||
      isInField(name, present[name], value, areEqual),
  );
}

function isInField(name: string, actual: unknown, rendered: unknown, areEqual: AreEqual): boolean {
  if (SELECTORS.has(name)) return isIn(actual, rendered, areEqual) && isIn(rendered, actual, areEqual);
  return isIn(actual, rendered, QUANTITIES.has(name) ? areEqualQuantities : areEqual);
}

function isEmpty(value: unknown): boolean {
  return value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0);
}

function hasElements(actual: readonly unknown[], rendered: readonly unknown[], areEqual: AreEqual): boolean {
  const key = LIST_KEYS.find((name) => rendered.every((element) => typeof mappingOf(element)?.[name] === "string"));
  if (key === undefined || rendered.length === 0)
    return (
      actual.length === rendered.length && rendered.every((element, index) => isIn(actual[index], element, areEqual))
    );
  return rendered.every((element) => {
    const name = mappingOf(element)?.[key];
    const found = actual.find((each) => mappingOf(each)?.[key] === name);
    return found !== undefined && isIn(found, element, areEqual);
  });
}

function areEqualQuantities(left: unknown, right: unknown): boolean {
  if (left === right) return true;
  const [from, to] = [amountOf(left), amountOf(right)];
  // 9m is not exactly 0.009 here.
  return Math.abs(from - to) <= 1e-12 * Math.max(from, to);
}

/** The amount; NaN, which equals nothing, when the value is no quantity. */
function amountOf(value: unknown): number {
  const [, digits, unit = ""] = /^([0-9.]+(?:[eE][-+]?[0-9]+)?)([a-zA-Z]*)$/.exec(String(value)) ?? [];
  return Number(digits) * (FACTORS[unit] ?? Number.NaN);
}
