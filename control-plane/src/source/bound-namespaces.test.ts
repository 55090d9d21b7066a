// Tests of bound-namespaces.ts: which resources of a namespace are left out, and what is reported of them.
import { describe, expect, it } from "vitest";

import { boundNamespaces } from "./bound-namespaces.ts";
import { resourceKey, type SourceResource, type SourceState } from "./source.ts";

function resource(namespace: string, name: string, createdMs = 0): SourceResource {
  const place = { file: `${name}.yaml`, line: 1, column: 1 };
  return { namespace, name, createdMs, place, isLastGood: false, locate: () => place, resource: {} as never };
}

function shown({ resources, refusals }: SourceState): readonly unknown[] {
  return [resources.map(resourceKey), refusals.map((refusal) => refusal.resource)];
}

describe("boundNamespaces()", () => {
  it("leaves out the youngest of a namespace, then the last by name, and nothing of others", () => {
    const resources = [resource("a", "z", 1), resource("a", "c"), resource("b", "x", 9), resource("a", "b")];
    const state = boundNamespaces({ resources, refusals: [] }, 2);
    expect(shown(state)).toEqual([["a/c", "b/x", "a/b"], ["a/z"]]);
    expect(state.refusals).toEqual([
      {
        place: { file: "z.yaml", line: 1, column: 1 },
        field: "",
        message: "namespace a has more than 2 RateLimitConfigs, this is not one of the oldest 2",
        resource: "a/z",
        keepsLastGood: false,
        reason: "TooMany",
      },
    ]);
    expect(shown(boundNamespaces({ resources, refusals: [] }, 1))).toEqual([
      ["b/x", "a/b"],
      ["a/c", "a/z"],
    ]);
  });

  it("leaves out nothing of ten thousand, and reports a thousand of more than eleven thousand", () => {
    const resources = Array.from({ length: 11_001 }, (_, index) => resource("a", `n-${index}`, index));
    const most = { resources: resources.slice(0, 10_000), refusals: [] };
    expect(boundNamespaces(most)).toEqual(most);
    const [served, reported] = shown(boundNamespaces({ resources, refusals: [] })) as string[][];
    expect([served?.length, served?.at(-1)]).toEqual([10_000, "a/n-9999"]);
    expect([reported?.length, reported?.[0], reported?.at(-1)]).toEqual([1000, "a/n-10000", "a/n-10999"]);
  });
});
