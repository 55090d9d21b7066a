// CEL rules of the API server, each with the same in TypeScript, so that a manifest can be checked without one.
import { type FieldPath, fieldPath } from "@weir/limits/model/field-path";
import * as z from "zod";

import type { ManifestProblem } from "./problems.ts";

/** The word of a schema for its rules. */
const RULES = "x-kubernetes-validations";

/** The word for the fields by which the API server distinguishes the items of a list. */
const MAP_KEYS = "x-kubernetes-list-map-keys";

/** A rule about a value of type `Self`. */
export interface CelRule<Self> {
  /** The expression. */
  readonly rule: string;
  readonly message: string;
  /** Path from the value to the field that the message is about, such as `.replicas`. */
  readonly fieldPath?: string;
  readonly reason?: string;
  /** The same as `rule`. Absent: it compares with what is stored, or another check has better words. */
  readonly isKept?: (self: Self) => boolean;
  /** In place of `fieldPath`, for fields that CEL may not name; the message begins with it. */
  readonly path?: FieldPath;
}

/** A rule as schemas have it. */
type AnyRule = CelRule<never>;

/** The rules without what the API server does not know. */
export function celOnly(rules: readonly AnyRule[]): readonly object[] {
  return rules.map(({ isKept: _isKept, path: _path, ...cel }) => cel);
}

/** The rules of one value that it does not keep. `at` is its path. */
export function brokenRules(rules: readonly AnyRule[], self: unknown, at: FieldPath): readonly ManifestProblem[] {
  return rules
    .filter(({ isKept }) => isKept !== undefined && !isKept(self as never))
    .map(({ message, fieldPath: inner = "", path }) => {
      if (path === undefined) return { path: [...at, ...inner.split(".").slice(1)], message };
      return { path, message: message.replace(`${fieldPath(path)} `, "") };
    });
}

/**
 * The rules of a schema that a value and what is inside do not keep, and items of lists that are there
 * twice. The value is one that the schema accepts; `path` is its own.
 */
export function findBrokenRules(schema: z.core.$ZodType, value: unknown, path: FieldPath): readonly ManifestProblem[] {
  if (value === undefined) return [];
  const meta = z.globalRegistry.get(schema) ?? {};
  const own = [
    ...brokenRules((meta[RULES] ?? []) as readonly AnyRule[], value, path),
    ...findTwins(value, (meta[MAP_KEYS] ?? []) as readonly string[], path),
  ];
  if (schema instanceof z.ZodOptional) return [...own, ...findBrokenRules(schema.unwrap(), value, path)];
  if (schema instanceof z.ZodArray) {
    const items = (value as readonly unknown[]).entries();
    return [...own, ...items.flatMap(([index, item]) => findBrokenRules(schema.element, item, [...path, index]))];
  }
  if (!(schema instanceof z.ZodObject)) return own;
  const shape = schema.shape as Readonly<Record<string, z.core.$ZodType>>;
  const self = value as Readonly<Record<string, unknown>>;
  return [
    ...own,
    ...Object.entries(shape).flatMap(([name, field]) => findBrokenRules(field, self[name], [...path, name])),
  ];
}

/** Items with the same keys as an earlier one. */
function findTwins(items: unknown, keys: readonly string[], path: FieldPath): readonly ManifestProblem[] {
  if (keys.length === 0) return [];
  const firsts = new Map<string, number>();
  return (items as readonly Readonly<Record<string, unknown>>[]).flatMap((item, index) => {
    const values = keys.map((key) => item[key]);
    const first = firsts.getOrInsert(JSON.stringify(values), index);
    if (first === index) return [];
    const named = keys.map((key, at) => `${key} ${JSON.stringify(values[at])}`).join(", ");
    const message = `duplicate ${named}, first at ${fieldPath([...path, first])}`;
    return [{ path: [...path, index, keys[0] ?? ""], message, first: [...path, first] }];
  });
}
