// Property test of the quarantine: random edits, connections, answers and losses of pods with
// random policy; whatever the order, it comes to rest, and at rest nobody lacks what nobody rejects.
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import type { ManifestText } from "../assemble/manifests.suite.ts";
import { syncStatusOf } from "./sync-status.ts";
import { contentsOf, NackPolicyFixture, type Policy, type PolicyPod } from "./nack-policy.suite.ts";

const NAMES = ["a", "b", "c", "d"];
const CONTENTS = NAMES.flatMap((name) => [1, 2, 3].map((limit) => `default/${name}=${limit}`));

type Step =
  | { readonly kind: "edit"; readonly name: string; readonly limit: number }
  | { readonly kind: "delete"; readonly name: string }
  | {
      readonly kind: "connect";
      readonly node: number;
      readonly rejects: readonly string[];
      readonly answers: Policy["answers"];
    }
  | { readonly kind: "disconnect"; readonly pod: number }
  | { readonly kind: "answer"; readonly pod: number };

function stepsWith(...answers: readonly Policy["answers"][]): fc.Arbitrary<readonly Step[]> {
  const pod = fc.nat({ max: 20 });
  const name = fc.constantFrom(...NAMES);
  return fc.array(
    fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ kind: fc.constant("edit" as const), name, limit: fc.integer({ min: 1, max: 3 }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), name }) },
      {
        weight: 3,
        arbitrary: fc.record({
          kind: fc.constant("connect" as const),
          node: fc.nat({ max: 3 }),
          rejects: fc.oneof(fc.constant([]), fc.subarray(CONTENTS), fc.constant(CONTENTS)),
          answers: fc.constantFrom(...answers),
        }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("disconnect" as const), pod }) },
      { weight: 8, arbitrary: fc.record({ kind: fc.constant("answer" as const), pod }) },
    ),
    { minLength: 5, maxLength: 60 },
  );
}

/** The fixture after the steps, at rest, with everything that any pod ever loaded. */
class Run {
  readonly fixture = new NackPolicyFixture();
  readonly everLoaded = new Set<string>();
  readonly everyTaste: Policy[] = [];
  readonly wanted = new Map<string, ManifestText>();

  constructor(steps: readonly Step[]) {
    for (const step of steps) this.#take(step);
    for (let answers = 0; ; answers += 1) {
      const asked = this.fixture.pods.find((pod) => pod.isAsked);
      if (asked === undefined) break;
      // Each pod rejects each of four resources at most once, and accepts between; what others
      // accept may come again.
      expect(answers, "it comes to rest").toBeLessThan(20 * (this.fixture.pods.length + 1));
      this.#answer(asked);
    }
  }

  get wantedContents(): readonly string[] {
    return [...this.wanted.values()]
      .map(({ name, requestsPerUnit }) => `default/${name}=${requestsPerUnit ?? 0}`)
      .toSorted();
  }

  get published(): readonly string[] {
    return contentsOf(this.fixture.snapshotFor("any"));
  }

  #take(step: Step): void {
    switch (step.kind) {
      case "edit":
        this.wanted.set(step.name, { name: step.name, domain: step.name, requestsPerUnit: step.limit });
        this.fixture.want(...this.wanted.values());
        break;
      case "delete":
        this.wanted.delete(step.name);
        this.fixture.want(...this.wanted.values());
        break;
      case "connect": {
        const policy = { rejects: (content: string) => step.rejects.includes(content), answers: step.answers };
        this.everyTaste.push(policy);
        this.fixture.connect(policy, `node-${step.node}`);
        break;
      }
      case "disconnect":
      case "answer": {
        const pod = this.fixture.pods[step.pod % Math.max(1, this.fixture.pods.length)];
        if (pod === undefined) break;
        if (step.kind === "disconnect") this.fixture.disconnect(pod);
        else if (pod.isAsked) this.#answer(pod);
      }
    }
  }

  #answer(pod: PolicyPod): void {
    pod.answer();
    for (const content of pod.loaded) this.everLoaded.add(content);
  }
}

describe("Quarantine at rest", () => {
  it("serves what nobody rejects, and not what a pod rejects unless another has loaded it, whatever the order of events", () => {
    fc.assert(
      fc.property(stepsWith("named", "silent"), (steps) => {
        const run = new Run(steps);
        const { published, wantedContents } = run;
        for (const content of wantedContents) {
          if (run.everyTaste.some((policy) => policy.rejects(content))) continue;
          expect(published, "what nobody rejects is served").toContain(content);
        }
        for (const pod of run.fixture.pods.filter(({ policy }) => policy.answers === "named")) {
          const bad = published.find((content) => pod.policy.rejects(content));
          if (bad === undefined) expect(pod.loaded, "who can load what is published has loaded it").toEqual(published);
          else expect([...run.everLoaded], "what is published and rejected was loaded by another").toContain(bad);
          const state = run.fixture.registry.list().find(({ peer }) => peer === pod.stream.peer);
          const standing = state && syncStatusOf(state, run.fixture.snapshotFor("any")?.version);
          const expected =
            run.fixture.snapshotFor("any") === undefined ? "waiting" : bad === undefined ? "current" : "rejected";
          expect(standing, "who has answered is told of as it stands").toBe(expected);
        }
      }),
      { numRuns: 200, seed: 31 },
    );
  });

  it("serves everything when one pod that answers takes everything, whatever the others say", () => {
    fc.assert(
      fc.property(stepsWith("named", "silent", "unnamed"), fc.nat({ max: 60 }), (steps, place) => {
        const easy: Step = { kind: "connect", node: 9, rejects: [], answers: "named" };
        const run = new Run([
          ...steps.slice(0, place),
          easy,
          ...steps.slice(place).filter(({ kind }) => kind !== "disconnect"),
        ]);
        expect(run.published).toEqual(run.wantedContents);
        expect(run.fixture.inForce()?.hold).toBeUndefined();
      }),
      { numRuns: 200, seed: 32 },
    );
  });

  it("comes to rest, and keeps no rejection of what is no longer wanted, when pods reject without a name", () => {
    fc.assert(
      fc.property(stepsWith("named", "unnamed"), (steps) => {
        const run = new Run(steps);
        const { resources } = run.fixture.nackPolicy.nacks();
        for (const { resource } of resources) expect(run.wanted.has(resource.replace("default/", ""))).toBe(true);
        if (run.fixture.inForce()?.hold !== undefined) {
          for (const content of run.published) expect([...run.everLoaded]).toContain(content);
        }
      }),
      { numRuns: 200, seed: 33 },
    );
  });
});
