// Tests of translate-resources.ts and canonical.ts, and of ownership with them.
import { isDeepStrictEqual } from "node:util";

import { messageOfModel, modelOfMessage } from "@weir/limits/model/message";
import { findProblems } from "@weir/limits/validate/validate";
import { beforeEach, describe, expect, it, vi } from "vitest";

import type { DesiredConfiguration } from "./desired-configuration.ts";
import type { SourceState } from "../source/source.ts";
import { translationSteps } from "./translate-resources.ts";
import { manifest, type ManifestText, stateOf, stateOfManifests, translateResources } from "./manifests.suite.ts";

// The real functions; their calls are counted.
vi.mock("@weir/limits/model/message", { spy: true });
vi.mock("@weir/limits/validate/validate", { spy: true });

beforeEach(() => {
  vi.clearAllMocks();
});

/** Names of what is served, and `reason: resource` of what is not. */
function shown({ accepted, refusals }: DesiredConfiguration): readonly [readonly string[], readonly string[]] {
  return [accepted.map(({ key }) => key), refusals.map(({ reason, resource }) => `${reason}: ${resource ?? "?"}`)];
}

/** Returns {@link shown} of the translation of these manifests, which all claim one domain. */
function claim(...manifests: readonly Omit<ManifestText, "domain">[]): readonly [readonly string[], readonly string[]] {
  return shown(translateResources(stateOfManifests(...manifests.map((text) => ({ ...text, domain: "shared" })))));
}

describe("translationSteps()", () => {
  it("translates a resource to a message that carries its namespace and name", () => {
    const { accepted } = translateResources(
      stateOf({ "a.yaml": manifest({ name: "a", namespace: "team", domain: "alpha", unit: "hour" }) }),
    );
    expect(accepted.map(({ content }) => modelOfMessage(content.message))).toEqual([
      {
        name: "team/a",
        domain: "alpha",
        descriptors: [
          {
            key: "user",
            value: "",
            rateLimit: { unit: "HOUR", requestsPerUnit: 5, unlimited: false, name: "", replaces: [] },
            descriptors: [],
            shadowMode: false,
            detailedMetric: false,
            quotaMode: false,
            valueToMetric: false,
            shareThreshold: false,
          },
        ],
      },
    ]);
  });

  it("refuses the youngest resources when all together name more than 256 fleets, and keeps those that name fewer", () => {
    const fleetsOf = (from: number, count: number): readonly string[] =>
      Array.from({ length: count }, (_, index) => `f${from + index}`);
    const manifests = [
      ...[0, 64, 128, 192].map((from, year) => ({
        from,
        count: year === 3 ? 63 : 64,
        name: `old-${year}`,
        created: `202${year}-01-01T00:00:00Z`,
      })),
      { from: 254, count: 3, name: "two-new", created: "2024-01-01T00:00:00Z" },
      { from: 254, count: 2, name: "one-new", created: "2025-01-01T00:00:00Z" },
      { from: 0, count: 64, name: "none-new", created: "2026-01-01T00:00:00Z" },
    ].map(({ from, count, name, created }) => ({
      name,
      namespace: name,
      created,
      domain: name,
      fleets: fleetsOf(from, count),
    }));
    const desired = translateResources(stateOfManifests(...manifests));
    expect(shown(desired)).toEqual([
      ["none-new/none-new", "old-0/old-0", "old-1/old-1", "old-2/old-2", "old-3/old-3", "one-new/one-new"],
      ["TooManyFleets: two-new/two-new"],
    ]);
    expect(desired.fleets).toHaveLength(256);
    expect(desired.refusals).toMatchObject([
      {
        field: "spec.fleets",
        message: "brings the named fleets from 255 to 257, all resources together may name at most 256",
      },
    ]);
  });

  it("refuses the youngest resources of a namespace that name more than 64 fleets first, and keeps those that older resources of others name", () => {
    const fleetsOf = (from: number, count: number): readonly string[] =>
      Array.from({ length: count }, (_, index) => `f${from + index}`);
    const manifests = [
      { namespace: "other", name: "older", from: 200, count: 40 },
      { namespace: "team", name: "first", from: 0, count: 40 },
      { namespace: "team", name: "too-many", from: 30, count: 35 },
      { namespace: "team", name: "as-many", from: 30, count: 34 },
      { namespace: "team", name: "shared", from: 200, count: 40 },
      { namespace: "team", name: "one-more", from: 239, count: 2 },
      { namespace: "other", name: "younger", from: 60, count: 20 },
    ].map(({ from, count, ...text }, year) => ({
      ...text,
      domain: text.name,
      created: `20${10 + year}-01-01T00:00:00Z`,
      fleets: fleetsOf(from, count),
    }));
    const desired = translateResources(stateOfManifests(...manifests));
    expect(shown(desired)).toEqual([
      ["other/older", "other/younger", "team/as-many", "team/first", "team/shared"],
      ["TooManyFleets: team/too-many", "TooManyFleets: team/one-more"],
    ]);
    const end = "one namespace may name at most 64 that no older resource of another namespace names";
    expect(desired.refusals.map(({ field, message }) => [field, message])).toEqual([
      ["spec.fleets", `brings the fleets that namespace team names from 40 to 65, ${end}`],
      ["spec.fleets", `brings the fleets that namespace team names from 64 to 65, ${end}`],
    ]);
  });

  it("gives the revisions of a resource one identity, and another with another domain or object", () => {
    const identity = (text: Partial<ManifestText>, uid?: string): string | undefined => {
      const { resources, refusals } = stateOfManifests({ name: "a", domain: "alpha", ...text });
      const withUid = resources.map((resource) => (uid === undefined ? resource : { ...resource, uid }));
      return translateResources({ resources: withUid, refusals }).accepted[0]?.identity;
    };
    const first = identity({});
    expect(first).toBeDefined();
    expect([identity({ requestsPerUnit: 9 }), identity({ fleets: ["gold"] })]).toEqual([first, first]);
    expect(identity({}, "1")).toBe(identity({ requestsPerUnit: 9 }, "1"));
    expect(new Set([first, identity({ domain: "beta" }), identity({}, "1"), identity({}, "2")]).size).toBe(4);
  });

  it("translates the last good revision that the source hands over, unless it is invalid or has another domain", () => {
    const lastGood = (text: string): number | undefined => {
      const [resource] = stateOfManifests({ name: "a", domain: "alpha" }).resources;
      const [earlier] = stateOf({ "a.yaml": text }).resources;
      if (resource === undefined || earlier === undefined) throw new Error("No resource");
      const state = { resources: [{ ...resource, lastGood: [earlier.resource] }], refusals: [] };
      return translateResources(state).accepted[0]?.lastGood[0]?.message.descriptors[0]?.rateLimit?.requestsPerUnit;
    };
    const text = { name: "a", domain: "alpha", requestsPerUnit: 9 };
    expect([lastGood(manifest(text)), lastGood(manifest({ ...text, domain: "beta" }))]).toEqual([9, undefined]);
    expect(translateResources(stateOfManifests(text)).accepted[0]?.lastGood).toEqual([]);
    const [invalid] = stateOf({ "a.yaml": manifest(text) }).resources;
    if (invalid === undefined) throw new Error("No resource");
    const { spec } = invalid.resource;
    const broken = {
      ...invalid.resource,
      spec: { ...spec, descriptors: [...(spec.descriptors ?? []), { key: "user" }] },
    };
    const state = { resources: [{ ...invalid, lastGood: [broken] }], refusals: [] };
    expect(translateResources(state).accepted.map(({ lastGood: revision }) => revision)).toEqual([[]]);
  });

  it("puts earlier revisions of a resource into shadow mode with it, and out of it", () => {
    const [resource] = stateOfManifests({ name: "a", domain: "alpha" }).resources;
    if (resource === undefined) throw new Error("No resource");
    const withSwitch = (shadowMode: boolean) => ({
      ...resource.resource,
      spec: { ...resource.resource.spec, shadowMode },
    });
    const shadowed = (now: boolean, earlier: boolean): readonly (boolean | undefined)[] => {
      const state = {
        resources: [{ ...resource, resource: withSwitch(now), lastGood: [withSwitch(earlier)] }],
        refusals: [],
      };
      return translateResources(state).accepted.flatMap(({ content, lastGood }) =>
        [content, ...lastGood].map(({ message }) => message.descriptors[0]?.shadowMode),
      );
    };
    expect([shadowed(true, false), shadowed(false, true)]).toEqual([
      [true, true],
      [false, false],
    ]);
  });

  it("counts no fleet of a resource that is refused for its domain", () => {
    const fleetsOf = (from: number): readonly string[] => Array.from({ length: 64 }, (_, index) => `f${from + index}`);
    const manifests = [
      { name: "owner", domain: "shared", created: "2020-01-01T00:00:00Z" },
      ...[0, 64, 128, 192].map((from) => ({
        name: `copy-${from}`,
        domain: "shared",
        fleets: fleetsOf(from),
        created: "2021-01-01T00:00:00Z",
      })),
      { name: "other", domain: "other", fleets: ["gateway"], created: "2022-01-01T00:00:00Z" },
    ];
    const { accepted, fleets } = translateResources(stateOfManifests(...manifests));
    expect([accepted.map(({ name }) => name), fleets]).toEqual([["other", "owner"], ["gateway"]]);
  });

  it("refuses the second of two resources with one name, by path, and names both places", () => {
    const { accepted, refusals } = translateResources(
      stateOf({ "b.yaml": manifest({ name: "a", domain: "one" }), "a.yaml": manifest({ name: "a", domain: "two" }) }),
    );
    expect(accepted.map(({ domain }) => domain)).toEqual(["two"]);
    expect(refusals).toEqual([
      {
        reason: "DuplicateResource",
        resource: "default/a",
        place: { file: "b.yaml", line: 4, column: 9 },
        field: "metadata.name",
        message: "default/a is defined twice: a.yaml:1 is used, b.yaml:1 is not; rename one of them",
        keepsLastGood: false,
      },
    ]);
  });

  it("tells a resource in another namespace apart", () => {
    expect(
      claim({ name: "a", namespace: "one", fleets: ["one"] }, { name: "a", namespace: "two", fleets: ["two"] }),
    ).toEqual([["one/a", "two/a"], []]);
  });

  it("passes on what the source refused", () => {
    const { refusals } = translateResources(
      stateOf({ "a.yaml": manifest({ name: "a", domain: "alpha", unit: "fortnight" }) }),
    );
    expect(refusals).toMatchObject([
      {
        reason: "InvalidSpec",
        field: "spec.descriptors[0].rateLimit.unit",
        place: { file: "a.yaml", line: 10, column: 15 },
      },
    ]);
  });

  it("refuses what the validator refuses even when the source let it pass", () => {
    const text = `${manifest({ name: "a", domain: "alpha" })}    - key: user\n`;
    const { resources, refusals } = stateOf({ "a.yaml": text });
    expect([resources, refusals[0]?.message]).toEqual([
      [],
      "duplicate descriptor composite key 'alpha.user', first at spec.descriptors[0] on line 8",
    ]);
    // A source that does not validate: the resource is good for the schema only.
    const [good] = stateOf({ "a.yaml": manifest({ name: "a", domain: "alpha" }) }).resources;
    if (good === undefined) throw new Error("No resource");
    const { spec } = good.resource;
    const broken = {
      ...good,
      resource: { ...good.resource, spec: { ...spec, descriptors: [...(spec.descriptors ?? []), { key: "user" }] } },
    };
    expect(translateResources({ resources: [broken], refusals: [] })).toMatchObject({
      accepted: [],
      refusals: [
        {
          reason: "InvalidSpec",
          resource: "default/a",
          field: "spec.descriptors[1].key",
          message: "duplicate descriptor composite key 'alpha.user', first at spec.descriptors[0]",
        },
      ],
    });
  });

  it.each([
    {
      when: "the other is older",
      manifests: [
        { name: "a", created: '"2026-02-01T00:00:00Z"' },
        { name: "b", created: '"2026-01-01T00:00:00Z"' },
      ],
      expected: [["default/b"], ["DomainConflict: default/a"]],
    },
    {
      when: "only the other has no age, which is the greatest",
      manifests: [{ name: "a", created: '"2026-02-01T00:00:00Z"' }, { name: "b" }],
      expected: [["default/b"], ["DomainConflict: default/a"]],
    },
    {
      when: "both are equally old and the other's namespace comes first",
      manifests: [
        { name: "a", namespace: "z" },
        { name: "b", namespace: "edge" },
      ],
      expected: [["edge/b"], ["DomainConflict: z/a"]],
    },
    {
      when: "both are equally old and the other's name comes first",
      manifests: [{ name: "b" }, { name: "a" }],
      expected: [["default/a"], ["DomainConflict: default/b"]],
    },
    {
      when: "both are for different fleets: none is refused",
      manifests: [
        { name: "a", fleets: ["one"] },
        { name: "b", fleets: ["two"] },
      ],
      expected: [["default/a", "default/b"], []],
    },
    {
      when: "they meet in one of several fleets: the younger is refused in all",
      manifests: [
        { name: "a", fleets: ["one", "two"] },
        { name: "b", fleets: ["two", "three"] },
      ],
      expected: [["default/a"], ["DomainConflict: default/b"]],
    },
    {
      when: "the older is for every fleet",
      manifests: [{ name: "a" }, { name: "b", fleets: ["one"] }],
      expected: [["default/a"], ["DomainConflict: default/b"]],
    },
    {
      when: "the younger is for every fleet",
      manifests: [{ name: "a", fleets: ["one"] }, { name: "b" }],
      expected: [["default/a"], ["DomainConflict: default/b"]],
    },
    {
      when: "the one between them lost: a refused resource owns nothing",
      manifests: [
        { name: "a", fleets: ["one"] },
        { name: "b", fleets: ["one", "two"] },
        { name: "c", fleets: ["two"] },
      ],
      expected: [["default/a", "default/c"], ["DomainConflict: default/b"]],
    },
  ])("gives a domain to $expected when $when", ({ manifests, expected }) => {
    expect(claim(...manifests)).toEqual(expected);
  });

  it("names the owner, its place and the fleet when a domain is taken", () => {
    const { refusals } = translateResources(
      stateOf({
        "a.yaml": manifest({ name: "a", domain: "shared", fleets: ["one", "two"] }),
        "b.yaml": manifest({ name: "b", domain: "shared", fleets: ["two"] }),
      }),
    );
    expect(refusals).toMatchObject([
      {
        field: "spec.domain",
        place: { file: "b.yaml", line: 6, column: 11 },
        message:
          'domain "shared" belongs to default/a (a.yaml:1) in fleet "two": the oldest resource owns a domain, then the first by namespace and name',
      },
    ]);
  });

  it("gives the domain to the next in line when its owner goes", () => {
    const [old, young] = [
      { name: "z", domain: "shared" },
      { name: "zz", domain: "shared", fleets: ["one"] },
    ];
    expect(shown(translateResources(stateOfManifests(old, young)))).toEqual([
      ["default/z"],
      ["DomainConflict: default/zz"],
    ]);
    expect(shown(translateResources(stateOfManifests(young)))).toEqual([["default/zz"], []]);
    // An owner that keeps its name but leaves the domain has gone from it, too.
    expect(shown(translateResources(stateOfManifests({ ...old, domain: "moved" }, young)))).toEqual([
      ["default/z", "default/zz"],
      [],
    ]);
  });

  it.each([
    ["nothing", {}],
    ["rules of an accepted one", { a: { requestsPerUnit: 9 }, c: { unit: "hour" } }],
    ["rules of one whose domain is taken", { b: { requestsPerUnit: 9 } }],
    ["a domain, which is free for the next", { a: { domain: "moved" } }],
    ["a domain, which another one has", { c: { domain: "shared" } }],
    ["fleets, which makes room in one", { a: { fleets: ["one"] } }],
    ["the age, which changes the owner", { b: { created: "2020-01-01T00:00:00Z" } }],
    ["rules that are invalid", { a: { unit: "fortnight" } }],
    ["rules that are valid again", { d: { unit: "hour" } }],
    ["the place of the owner, which errors name", { a: { namespace: "default" } }],
    ["a name", { c: { name: "renamed" } }],
  ] as const)("gives the same with and without what was translated before, after an edit of %s", (_, edits) => {
    const texts: Readonly<Record<string, ManifestText>> = {
      a: { name: "a", domain: "shared", created: "2021-01-01T00:00:00Z" },
      b: { name: "b", domain: "shared", fleets: ["two"], created: "2022-01-01T00:00:00Z" },
      c: { name: "c", domain: "free", fleets: ["two"] },
      d: { name: "d", domain: "broken", unit: "fortnight" },
    };
    const filesOf = (changes: Readonly<Record<string, Partial<ManifestText>>>): SourceState => {
      const files = Object.entries(texts).map(
        ([file, text]) => [file, manifest({ ...text, ...changes[file] })] as const,
      );
      return stateOf(Object.fromEntries(files));
    };
    const first = filesOf({});
    const fresh = filesOf(edits);
    // As a source does, the same object for what is the same.
    const resources = fresh.resources.map((resource) => {
      const name = resource.place.file;
      return name in edits ? resource : (first.resources.find(({ place }) => place.file === name) ?? resource);
    });
    const refusals = fresh.refusals.map(
      (refusal) => first.refusals.find((each) => isDeepStrictEqual(each, refusal)) ?? refusal,
    );
    const next = { resources, refusals };
    const before = { state: first, desired: translateResources(first) };
    expect(translateResources(next, before)).toEqual(translateResources(next));
  });

  it("lists every fleet that an accepted resource names, once and sorted", () => {
    const state = stateOfManifests(
      { name: "a", domain: "alpha", fleets: ["z", "x"] },
      { name: "b", domain: "beta", fleets: ["m"] },
      { name: "c", domain: "alpha", fleets: ["z", "lost"] },
      { name: "d", domain: "delta" },
    );
    const { fleets, accepted } = translateResources(state);
    expect([fleets, accepted.map((resource) => resource.fleets)]).toEqual([
      ["m", "x", "z"],
      [["x", "z"], ["m"], undefined],
    ]);
  });

  it("orders resources by name and refusals by place, whatever their age and the order in which the source has them", () => {
    const state = stateOf({
      "b.yaml": manifest({ name: "m", domain: "alpha", created: '"2026-02-01T00:00:00Z"' }),
      "c.yaml": manifest({ name: "x", domain: "beta", created: '"2026-01-01T00:00:00Z"' }),
      "d.yaml": manifest({ name: "a", domain: "gamma", created: '"2026-03-01T00:00:00Z"' }),
      "a.yaml": `${manifest({ name: "x", domain: "delta" })}---\n${manifest({ name: "w", domain: "alpha", unit: "fortnight" })}`,
    });
    const expected = [
      ["default/a", "default/m", "default/x"],
      ["InvalidSpec: default/w", "DuplicateResource: default/x"],
    ];
    expect(shown(translateResources(state))).toEqual(expected);
    expect(
      shown(translateResources({ resources: state.resources.toReversed(), refusals: state.refusals.toReversed() })),
    ).toEqual(expected);
  });

  it("uses the first of two resources with one name in one file, whatever order the source has them in", () => {
    const text = `${manifest({ name: "a", domain: "one" })}---\n${manifest({ name: "a", domain: "two" })}`;
    const { resources } = stateOf({ "a.yaml": text });
    for (const ordered of [resources, resources.toReversed()]) {
      const { accepted, refusals } = translateResources({ resources: ordered, refusals: [] });
      expect([accepted.map(({ domain }) => domain), refusals.map(({ place }) => place.line)]).toEqual([["one"], [16]]);
    }
  });

  it("puts several problems of one resource in the order of the text", () => {
    const text = manifest({ name: "a", domain: "alpha", unit: "fortnight" }).replace(
      "requestsPerUnit: 5",
      "requestsPerUnit: -5",
    );
    const { resources, refusals } = stateOf({ "a.yaml": text });
    const placed = refusals.flatMap((refusal) => [
      { ...refusal, message: "right", place: { ...refusal.place, column: 90 } },
      { ...refusal, message: "left", place: { ...refusal.place, column: 9 } },
    ]);
    for (const ordered of [placed, placed.toReversed()]) {
      expect(
        translateResources({ resources, refusals: ordered }).refusals.map(({ place, message }) => [
          place.line,
          message,
        ]),
      ).toEqual([
        [10, "left"],
        [10, "right"],
        [11, "left"],
        [11, "right"],
      ]);
    }
  });

  it("sorts the keys of metadata at every depth and keeps the order of rules and lists", () => {
    const text = (metadata: string): string =>
      manifest({ name: "a", domain: "alpha" }).replace(
        "      rateLimit:",
        `      metadata: ${metadata}\n      rateLimit:`,
      );
    const [first, second] = [
      "{ b: [{ w: 1, v: 2 }, 0, null], a: { d: 1, c: null } }",
      "{ a: { c: null, d: 1 }, b: [{ v: 2, w: 1 }, 0, null] }",
    ].map((metadata) => {
      const [resource] = translateResources(stateOf({ "a.yaml": text(metadata) })).accepted;
      return JSON.stringify(resource?.content.message.descriptors[0]?.metadata);
    });
    expect(first).toBe('{"a":{"c":null,"d":1},"b":[{"v":2,"w":1},0,null]}');
    expect(second).toBe(first);
  });

  it("checks and translates new resources only, and returns the same objects for the others", () => {
    const before = stateOfManifests(
      ...Array.from({ length: 50 }, (_, index) => ({ name: `n${index}`, domain: `d${index}` })),
      {
        name: "late",
        domain: "d7",
      },
    );
    const first = translateResources(before);
    const [changed] = stateOfManifests({ name: "n3", domain: "elsewhere" }).resources;
    if (changed === undefined) throw new Error("No resource");
    vi.clearAllMocks();
    const after = translateResources({ ...before, resources: before.resources.with(3, changed) });
    expect([vi.mocked(findProblems).mock.calls.length, vi.mocked(messageOfModel).mock.calls.length]).toEqual([1, 1]);
    expect(after.accepted.find(({ key }) => key === "default/n3")?.domain).toBe("elsewhere");
    const others = ({ accepted }: DesiredConfiguration): DesiredConfiguration["accepted"] =>
      accepted.filter(({ key }) => key !== "default/n3");
    expect(others(after).every((resource, index) => resource === others(first)[index])).toBe(true);
    expect([others(after).length, after.refusals]).toEqual([49, first.refusals]);
  });

  it("checks and translates at most one resource in a step", () => {
    const state = stateOfManifests(
      ...Array.from({ length: 20 }, (_, index) => ({ name: `n${index}`, domain: `d${index}` })),
    );
    vi.clearAllMocks();
    const callsByStep: number[] = [];
    for (const steps = translationSteps(state); steps.next().done !== true; vi.mocked(findProblems).mockClear())
      callsByStep.push(vi.mocked(findProblems).mock.calls.length);
    expect(Math.max(...callsByStep)).toBe(1);
    expect(callsByStep.filter((calls) => calls === 1)).toHaveLength(19); // The last one is in the last step.
  });
});
