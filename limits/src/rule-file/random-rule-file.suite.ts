// Random rule files for the comparison with yaml.v2: keys that repeat, aliases and merges, and values of the wrong type.
import fc from "fast-check";

/** A tree whose scalars are the very text of YAML. */
type Tree = string | readonly Tree[] | { readonly pairs: readonly (readonly [key: string, value: Tree])[] };

const TEXTS = ["x", "yes", "'5'", '"a\\tb"', "0x1F", "2001-01-01", "user_*", "12:30:45"];
const NULLS = ["~", "null", "NULL", "Null", ""];
const NUMBERS = ["0", "5", "017", "0b11", "1_000", "4294967295"];
const BOOLEANS = ["true", "on", "n", "False"];
const ODD_SCALARS = [
  ...NULLS,
  ...BOOLEANS,
  "-1",
  "4294967296",
  "1.5",
  "1e3",
  "-0.5",
  "-7.5",
  ".inf",
  "18446744073709551615",
  "!!str 5",
  "!!int '7'",
  "!!bool x",
  "!!binary eA==",
];

/** Anchors that every file defines in front of its rules. */
const ALIASES = ["*limit", "*rule", "*list"];

const odd: fc.Arbitrary<Tree> = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom<Tree>(...ODD_SCALARS) },
  { weight: 2, arbitrary: fc.constantFrom<Tree>(...ALIASES) },
  { weight: 1, arbitrary: fc.constantFrom<Tree>({ pairs: [] }, [], ["x"], ["~"], [{ pairs: [["name", "y"]] }]) },
);

const text = fc.constantFrom<Tree>(...TEXTS, ...NUMBERS, ...NULLS);
const boolean = fc.constantFrom<Tree>(...BOOLEANS, "~");
const merge = fc.constantFrom<Tree>("*limit", "*rule", "[*rule, *limit]", "[*limit]", "{name: z}", "*list", "[*list]");

/** A map with some of these fields, repeated ones included, and now and then a wrong value or key. */
function mapOf(fields: Readonly<Record<string, fc.Arbitrary<Tree>>>, lengthMax = 6): fc.Arbitrary<Tree> {
  const pairs = Object.entries({ ...fields, "<<": merge }).map(([key, value]) => ({
    weight: key === "<<" ? 1 : 4,
    arbitrary: fc.tuple(fc.constant(key), fc.oneof({ weight: 24, arbitrary: value }, { weight: 1, arbitrary: odd })),
  }));
  const stray = fc.tuple(fc.constantFrom("unit", "domain", "unknown", "5", "~", "yes", "'key'"), odd);
  return fc
    .array(fc.oneof(...pairs, { weight: fields["domain"] === undefined ? 0 : 1, arbitrary: stray }), {
      maxLength: lengthMax,
    })
    .map((all) => ({ pairs: all }));
}

const limit = mapOf({
  unit: text,
  requests_per_unit: fc.constantFrom<Tree>(...NUMBERS, "~"),
  unlimited: boolean,
  name: text,
  replaces: fc.array(mapOf({ name: text }, 2), { maxLength: 2 }),
});

/** Without floats, which Go and JSON write differently. */
const metadataValue: fc.Arbitrary<Tree> = fc.letrec<{ value: Tree }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.constantFrom<Tree>(...TEXTS, ...NUMBERS, ...NULLS, ...BOOLEANS, "*limit"),
    fc.array(tie("value"), { maxLength: 2 }),
    freeMap(tie("value")),
  ),
})).value;

function freeMap(value: fc.Arbitrary<Tree>): fc.Arbitrary<Tree> {
  const pair = fc.oneof(
    { weight: 6, arbitrary: fc.tuple(fc.constantFrom("a", "b", "'c'", "__proto__"), value) },
    { weight: 1, arbitrary: fc.tuple(fc.constant("<<"), fc.constantFrom<Tree>("*limit", "{a: 1, b: {c: 2}}")) },
  );
  return fc.array(pair, { maxLength: 4 }).map((pairs) => ({ pairs }));
}

function rule(levels: number): fc.Arbitrary<Tree> {
  return mapOf({
    key: text,
    value: text,
    rate_limit: fc.oneof(
      { weight: 5, arbitrary: limit },
      { weight: 1, arbitrary: fc.constantFrom<Tree>(...NULLS, "*limit") },
    ),
    descriptors: levels === 1 ? fc.constant<Tree>([]) : fc.array(rule(levels - 1), { maxLength: 2 }),
    shadow_mode: boolean,
    detailed_metric: boolean,
    quota_mode: boolean,
    value_to_metric: boolean,
    share_threshold: boolean,
    metadata: fc.oneof(
      { weight: 4, arbitrary: freeMap(metadataValue) },
      { weight: 1, arbitrary: fc.constantFrom<Tree>(...NULLS) },
    ),
  });
}

const root = mapOf({ domain: text, descriptors: fc.array(rule(3), { maxLength: 3 }) }, 4);

/** Texts of rule files. */
export const randomRuleFile: fc.Arbitrary<string> = fc
  .record({ limit, rule: rule(1), root, isBlock: fc.boolean() })
  .map(({ limit: anchored, rule: other, root: tree, isBlock }) => {
    const written = isBlock ? (part: Tree): string => block(part, 1) : flow;
    const head = `name: &limit ${flow(anchored)}\nunit: &rule ${flow(other)}\nvalue: &list [*rule]\n`;
    if (typeof tree === "string" || !("pairs" in tree)) return head;
    return `${head}${tree.pairs.map(([key, value]) => `${key}: ${written(value)}\n`).join("")}`;
  });

function flow(tree: Tree): string {
  if (typeof tree === "string") return tree;
  if (!("pairs" in tree)) return `[${tree.map((item) => flow(item) || "''").join(", ")}]`;
  return `{${tree.pairs.map(([key, value]) => `${key}: ${flow(value)}`).join(", ")}}`;
}

/** The tree in block style, as it follows a key; what is empty has no such style. */
function block(tree: Tree, depth: number): string {
  if (typeof tree === "string") return tree;
  const indent = `\n${"  ".repeat(depth)}`;
  if (!("pairs" in tree)) {
    if (tree.length === 0) return "[]";
    return tree.map((item) => `${indent}- ${flow(item)}`).join("");
  }
  if (tree.pairs.length === 0) return "{}";
  return tree.pairs.map(([key, value]) => `${indent}${key}: ${block(value, depth + 1)}`).join("");
}
