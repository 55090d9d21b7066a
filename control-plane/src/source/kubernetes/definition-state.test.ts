// Tests of definition-state.ts: when the definition counts as there, and what is logged and reported.
import { createLog } from "@weir/common/log/log";
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import type { ReflectorDeps } from "@weir/kubernetes/reflector/reflector-run";
import { beforeEach, describe, expect, it } from "vitest";

import { DEFINITION, DefinitionState } from "./definition-state.ts";

const ALPHA = { group: "g", version: "v1", plural: "ratelimitconfigs", namespace: "alpha", labelSelector: undefined };
const BETA = { ...ALPHA, namespace: "beta" };

function definition(metadata: { readonly uid?: string; readonly [field: string]: unknown } = {}): KubernetesObject {
  const object = { name: "d", namespace: "", uid: metadata.uid ?? "1", resourceVersion: "1", generation: 1 };
  return { ...object, content: { metadata: { ...object, ...metadata } } };
}

function failure(isKindMissing: boolean, verb: "list" | "watch" = "list"): ApiFailure {
  return new ApiFailure("refused", { verb, resource: ALPHA }, "no", { isKindMissing });
}

describe("DefinitionState", () => {
  let state: DefinitionState;
  let parts: Pick<ReflectorDeps, "sink" | "problems">;
  const changes: boolean[] = [];
  const lines: string[] = [];

  beforeEach(() => {
    changes.length = lines.length = 0;
    const write = (line: string): void => void lines.push((JSON.parse(line) as { "@message": string })["@message"]);
    const log = createLog({ level: "info", format: "json", write });
    state = new DefinitionState({ log, changed: (isDefined) => void changes.push(isDefined) });
    parts = state.reflectorParts();
  });

  it("is gone from the deletion timestamp of the definition until another definition is there", () => {
    parts.sink.take({ objects: [definition()], isFirst: true, isLast: true });
    parts.sink.put(definition({ labels: {} }));
    expect([changes, state.problem()]).toEqual([[], undefined]);
    parts.sink.put(definition({ deletionTimestamp: "2026-01-31T12:00:00Z" }));
    parts.sink.delete(definition());
    expect([changes, state.problem()]).toEqual([
      [false],
      "customresourcedefinitions.apiextensions.k8s.io ratelimitconfigs.ratelimit.weir.dev is gone or being deleted, what vanishes with it stays active",
    ]);
    parts.sink.put(definition({ uid: "2" }));
    expect([changes, state.problem()]).toEqual([[false, true], undefined]);
  });

  it("is gone when a list has no definition, or one that is being deleted", () => {
    parts.sink.take({ objects: [], isFirst: true, isLast: true });
    parts.sink.take({ objects: [definition({ deletionTimestamp: "now" })], isFirst: true, isLast: true });
    parts.sink.take({ objects: [definition()], isFirst: true, isLast: true });
    expect(changes).toEqual([false, true]);
  });

  it("is gone while the API server does not serve one of the lists, and not because of other failures", () => {
    state.failed(ALPHA, failure(false));
    expect(changes).toEqual([]);
    state.failed(ALPHA, failure(true));
    state.failed(BETA, failure(true, "watch"));
    state.listed(ALPHA);
    expect([changes, state.problem()]).toEqual([[false], undefined]);
    state.listed(BETA);
    expect(changes).toEqual([false, true]);
  });

  it("is gone until the definition is there and every list is served", () => {
    parts.sink.delete(definition());
    state.failed(ALPHA, failure(true));
    parts.sink.put(definition());
    expect(changes).toEqual([false]);
    state.listed(ALPHA);
    expect(changes).toEqual([false, true]);
  });

  it("was gone when there is another definition, until the lists that failed meanwhile are read", () => {
    parts.sink.take({ objects: [definition()], isFirst: true, isLast: true });
    state.failed(ALPHA, failure(false));
    parts.sink.take({ objects: [definition({ uid: "2" })], isFirst: true, isLast: true });
    expect(changes).toEqual([false]);
    state.listed(ALPHA);
    parts.sink.take({ objects: [definition({ uid: "2" })], isFirst: true, isLast: true });
    expect(changes).toEqual([false, true]);
    parts.sink.put(definition({ uid: "3" }));
    expect(changes).toEqual([false, true, false, true]);
  });

  it("forgets the definition, and logs that once, while the account may not watch it", () => {
    parts.sink.delete(definition());
    for (let attempt = 1; attempt <= 3; attempt += 1) parts.problems.failed("crd", failure(false));
    expect([changes, lines]).toEqual([
      [false, true],
      ["The CustomResourceDefinition is not watched, so its deletion is noticed later"],
    ]);
    parts.problems.following("crd");
    parts.problems.failed("crd", failure(false));
    expect(lines.length).toBe(2);
  });

  it("remembers the definition, without a log line, while the API server does not answer", () => {
    parts.sink.delete(definition());
    parts.problems.failed("crd", new ApiFailure("unreachable", { verb: "list", resource: DEFINITION }, "no answer"));
    expect([changes, lines]).toEqual([[false], []]);
  });
});
