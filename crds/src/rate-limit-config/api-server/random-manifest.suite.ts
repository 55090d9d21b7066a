// Random manifests for the comparison with a real API server: most of a valid one, with one or two
// places changed. The texts are flow YAML.
import fc from "fast-check";

/** A tree whose scalars are the very text of YAML. */
type Tree = string | readonly Tree[] | { readonly [name: string]: Tree };

/**
 * Scalars, empty and small values that represent everything that a user may write where something
 * else belongs.
 */
const LITERALS: readonly string[] = [
  ...`null ~ '' x yes on off no true True 'true' y n 0 -0 5 -1 +5 5.0 1.5 1e3 1_000 017 0o17 0x1F 0b11 08 .5 5. .inf 12:30:00
  4294967295 4294967296 9007199254740993 18446744073709551616 2001-01-01 2026-01-31T12:00:00Z 2026-01-31T12:00Z 2026-02-30T12:00:00Z
  second minute week DAY fortnight fixed_window token_bucket UTC Europe/Zurich 3651 a_b a.b a/b a-b -a a- A * k* d'e !!str&5 !!int&'5' !!float&5 [] {} [1] [null] [x,x] {a:&1} {a:&null}`.split(
    /\s+/,
  ),
  ...["' '", '"\\0"', '"\\u00e9"', '"😀"'],
  ...["x".repeat(63), "x".repeat(64), "x".repeat(256), "x".repeat(257), "😀".repeat(256), "x".repeat(1025)],
].map((text) => text.replaceAll("&", " "));

const FIELDS: readonly string[] =
  `key value rateLimit rate_limit descriptors shadowMode detailedMetric quotaMode valueToMetric shareThreshold showValues metadata unit
  requestsPerUnit unlimited name replaces rateLimits unitMultiplier algorithm burst countRejectedHits timeZone monthDay domain fleets labels annotations finalizers namespace creationTimestamp unknown`.split(
    /\s+/,
  );

const literal = fc.constantFrom(...LITERALS);

const limit: fc.Arbitrary<Tree> = fc.oneof(
  fc.record({
    unit: fc.constantFrom("second", "day", "year"),
    requestsPerUnit: fc.constantFrom("0", "1", "4294967295"),
  }),
  fc.record({ unlimited: fc.constant("true") }),
  fc.record({
    unit: fc.constant("hour"),
    requestsPerUnit: fc.constant("7"),
    unlimited: fc.constant("false"),
    name: fc.constantFrom("one", "two"),
    replaces: fc.array(fc.record({ name: fc.constantFrom("three", "four") }), { maxLength: 2 }),
  }),
  fc.record({
    unit: fc.constantFrom("second", "day"),
    requestsPerUnit: fc.constant("7"),
    unitMultiplier: fc.constantFrom("1", "5"),
    algorithm: fc.constant("token_bucket"),
    burst: fc.constantFrom("1", "4294967295"),
    countRejectedHits: fc.constantFrom("true", "false"),
  }),
  fc.record({
    unit: fc.constant("month"),
    requestsPerUnit: fc.constant("7"),
    timeZone: fc.constantFrom("UTC", "Europe/Zurich"),
    monthDay: fc.constantFrom("1", "31"),
  }),
);

/** Two limits of a list. */
const limits: fc.Arbitrary<Tree> = fc.tuple(
  ...["a", "b"].map((name) =>
    fc.record(
      {
        name: fc.constant(name),
        unit: fc.constantFrom("second", "year"),
        requestsPerUnit: fc.constantFrom("0", "5"),
        algorithm: fc.constantFrom("fixed_window", "sliding_window"),
      },
      { requiredKeys: ["name", "unit", "requestsPerUnit"] },
    ),
  ),
);

/** Keys are all different, because no API server compares rules with each other. */
function rules(levels: number, prefix: string): fc.Arbitrary<Tree> {
  return fc.integer({ min: 1, max: levels === 1 ? 1 : 2 }).chain((count) =>
    fc.tuple(
      ...Array.from({ length: count }, (_, index) => {
        const key = `${prefix}${index}`;
        const optional = {
          value: fc.constantFrom("v", "'404'", "v*"),
          rateLimit: limit,
          shadowMode: fc.constantFrom("true", "false"),
          metadata: fc.constantFrom<Tree>({ team: "a" }, { n: "1.5", deep: ["null", { on: "x" }] }, {}),
          ...(levels === 1 ? {} : { descriptors: rules(levels - 1, `${key}x`) }),
        };
        const { rateLimit: _rateLimit, ...others } = optional;
        return fc.oneof(
          { weight: 3, arbitrary: fc.record({ key: fc.constant(key), ...optional }, { requiredKeys: ["key"] }) },
          {
            weight: 1,
            arbitrary: fc.record(
              { key: fc.constant(key), rateLimits: limits, ...others },
              { requiredKeys: ["key", "rateLimits"] },
            ),
          },
        );
      }),
    ),
  );
}

const valid: fc.Arbitrary<Tree> = fc.record({
  apiVersion: fc.constant("ratelimit.weir.dev/v1alpha1"),
  kind: fc.constant("RateLimitConfig"),
  metadata: fc.record(
    {
      name: fc.constant("x"),
      namespace: fc.constant("default"),
      labels: fc.constant({ "example.com/team": "a" }),
      annotations: fc.constant({ note: "'b c'" }),
      creationTimestamp: fc.constant("null"),
      finalizers: fc.constant(["example.com/f"]),
    },
    { requiredKeys: ["name"] },
  ),
  spec: fc.record(
    {
      domain: fc.constantFrom("shop", "'a b'"),
      fleets: fc.constantFrom<Tree>(["edge"], ["edge", "Core_2"]),
      descriptors: rules(4, "k"),
    },
    { requiredKeys: ["domain"] },
  ),
});

type Change = (tree: Tree, pick: number, text: string, field: string) => Tree;

/** Ways to spoil a place. */
const CHANGES: readonly Change[] = [
  (_, __, text) => text,
  (_, __, text) => text,
  (tree, pick) =>
    isMapping(tree) ? Object.fromEntries(Object.entries(tree).filter((_, at, all) => at !== pick % all.length)) : tree,
  (tree, _, text, field) => (isMapping(tree) ? { ...tree, [field]: text } : tree),
  (tree, _, text) => (isMapping(tree) ? { ...tree, [text.replaceAll(/\W/g, "") || "k"]: "v" } : tree),
  (tree) => [tree],
  (tree) => (isList(tree) ? (tree[0] ?? tree) : tree),
  (tree, pick) => (isList(tree) ? [...tree, tree[pick % tree.length] ?? "x"] : tree),
  (tree, _, text) => (isList(tree) ? [...tree, text] : tree),
];

/** Texts of manifests, each valid or wrong in a place or two. */
export const randomManifest: fc.Arbitrary<string> = fc
  .record({
    tree: valid,
    changes: fc.array(fc.tuple(fc.nat(), fc.nat(), fc.constantFrom(...CHANGES), literal, fc.constantFrom(...FIELDS)), {
      minLength: 1,
      maxLength: 2,
    }),
  })
  .map(({ tree, changes }) =>
    written(
      changes.reduce(
        (so, [place, pick, change, text, field]) => changed(so, place, (part) => change(part, pick, text, field)),
        tree,
      ),
    ),
  );

/** The tree with one of its parts, chosen by a number, changed; the type of the resource stays. */
function changed(tree: Tree, place: number, change: (part: Tree) => Tree): Tree {
  const paths = pathsOf(tree).filter(([first]) => first === "spec" || first === "metadata");
  const path = paths[place % paths.length];
  return path === undefined ? tree : at(tree, path, change);
}

function at(tree: Tree, [step, ...rest]: readonly string[], change: (part: Tree) => Tree): Tree {
  if (step === undefined) return change(tree);
  if (isList(tree)) return tree.map((part, index) => (String(index) === step ? at(part, rest, change) : part));
  return isMapping(tree) ? { ...tree, [step]: at(tree[step] ?? "", rest, change) } : tree;
}

function pathsOf(tree: Tree): readonly (readonly string[])[] {
  if (typeof tree === "string") return [[]];
  return [[], ...Object.entries(tree).flatMap(([step, part]) => pathsOf(part).map((path) => [step, ...path]))];
}

function written(tree: Tree): string {
  if (typeof tree === "string") return tree;
  if (isList(tree)) return `[${tree.map(written).join(", ")}]`;
  return `{${Object.entries(tree)
    .map(([name, part]) => `"${name}": ${written(part)}`)
    .join(", ")}}`;
}

function isList(tree: Tree): tree is readonly Tree[] {
  return Array.isArray(tree);
}

function isMapping(tree: Tree): tree is Readonly<Record<string, Tree>> {
  return typeof tree === "object" && !Array.isArray(tree);
}
