// Tests of how a difference is cut into responses. delta-convergence.test.ts has what pods hold in the end.
import { describe, expect, it } from "vitest";

import { revisionOf } from "../../snapshot/revisions.suite.ts";
import { Snapshot } from "../../snapshot/snapshot.ts";
import { nextStep, type Step, type StepOptions } from "./delta-step.ts";

const OPTIONS: StepOptions = {
  names: undefined,
  owed: new Set(),
  responseMaxBytes: 1000,
  snapshotMaxBytes: 4000,
  singles: new Set(),
};

/** A snapshot of resources as `name@domain`, sorted by name. */
function snapshot(resources: readonly string[], sizeBytes = 100): Snapshot {
  const revisions = resources.map((text) => {
    const [name = "", domain = name] = text.split("@");
    return { ...revisionOf({ name, content: domain, sizeBytes }), domain };
  });
  return new Snapshot(revisions);
}

/** All steps of a pod that ACKs each. */
function stepsBetween(before: Snapshot, after: Snapshot, options: Partial<StepOptions> = {}): readonly Step[] {
  const steps: Step[] = [];
  for (let held = { snapshot: before, names: undefined } as Step["result"]; ;) {
    const step = nextStep(held, after, { ...OPTIONS, ...options });
    steps.push(step);
    if (step.isLast) return steps;
    held = step.result;
  }
}

/** The content of each step: `a` for a resource, `-a` for a removal. */
function textsOf(steps: readonly Step[]): readonly string[] {
  const short = (name: string): string => name.slice(name.indexOf("/") + 1);
  return steps.map(({ changed, removed }) =>
    [...removed.map((name) => `-${short(name)}`), ...changed.map(({ name }) => short(name))].join(" "),
  );
}

function sizesOf(steps: readonly Step[]): readonly number[] {
  return steps.map((step) => step.pieces().reduce((sum, { length }) => sum + length, 0));
}

/** `prefix-000@domain-000` and so on. */
function numbered(prefix: string, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => String(index).padStart(3, "0")).map(
    (number) => `${prefix}-${number}@domain-${number}`,
  );
}

describe("nextStep()", () => {
  it("gives each domain its new owner in one response, and one domain after the other", () => {
    const steps = stepsBetween(snapshot(["a@one", "b@two"]), snapshot(["c@one", "d@two"]), { responseMaxBytes: 10 });
    expect(textsOf(steps)).toEqual(["-a c", "-b d"]);
  });

  it("sends resources in one response that take domains from each other", () => {
    const before = snapshot(["a@one", "b@two", "c@three", "d@four"]);
    const after = snapshot(["a@two", "b@three", "d@five", "e@one"]);
    expect(textsOf(stepsBetween(before, after, { responseMaxBytes: 10 }))).toEqual(["-c a b e", "d"]);
  });

  it("removes what no other resource takes over in as many responses as it needs", () => {
    const steps = stepsBetween(snapshot(numbered("resource", 200)), snapshot(["other"]));
    expect(steps.flatMap(({ removed }) => removed)).toHaveLength(200);
    expect(Math.max(...sizesOf(steps))).toBeLessThan(1000 + 100);
  });

  it("counts the names in a response, whatever their length", () => {
    const [old, next] = ["o", "p"].map((letter) => snapshot(numbered(letter.repeat(200), 30), 20));
    const steps = stepsBetween(old!, next!, { responseMaxBytes: 4000 });
    expect(steps.length).toBeGreaterThan(1);
    expect(Math.max(...sizesOf(steps))).toBeLessThan(4000 + 100);
    for (const { result } of steps)
      expect(new Set(result.snapshot.revisions.map(({ domain }) => domain)).size).toBe(30);
  });

  it("cuts what no response may hold, so that no domain has two owners", () => {
    const many = Array.from({ length: 30 }, (_, index) => `n${String(index).padStart(3, "0")}`);
    const before = snapshot(
      many.map((name, index) => `${name}@${index}`),
      200,
    );
    const after = snapshot(
      many.map((name, index) => `${name}@${index + 1}`),
      200,
    );
    const steps = stepsBetween(before, after);
    expect(steps.length).toBeGreaterThan(1);
    expect(Math.max(...sizesOf(steps))).toBeLessThan(4000 + 100);
    for (const { result } of steps) {
      const domains = result.snapshot.revisions.map(({ domain }) => domain);
      expect(new Set(domains).size).toBe(domains.length);
    }
    const [first] = stepsBetween(snapshot(["a@one"], 3000), snapshot(["b@one"], 4000));
    expect(textsOf([first!])).toEqual(["-a"]);
  });

  it("joins the domains of a long chain of resources that move", () => {
    const chain = (from: number): Snapshot =>
      snapshot(
        Array.from({ length: 5000 }, (_, index) => `n${String(index).padStart(4, "0")}@${index + from}`),
        20,
      );
    const steps = stepsBetween(chain(0), chain(1), { snapshotMaxBytes: 1_000_000 });
    expect(steps.map(({ changed }) => changed.length)).toEqual([5000]);
  });

  it("sends a resource as large as a snapshot may be", () => {
    expect(textsOf(stepsBetween(snapshot([]), snapshot(["a", "b"], 4000)))).toEqual(["a", "b"]);
  });

  it("repeats what was NACKed after all others, one by one, and what must be in one last", () => {
    const before = snapshot(["a@one", "e@two"]);
    const after = snapshot(["b@one", "c", "d", "f", "g"]);
    const singles = new Set(["a", "b", "c", "d"].map((name) => `default/${name}`));
    expect(textsOf(stepsBetween(before, after, { singles }))).toEqual(["-e f g", "c", "d", "-a b"]);
  });
});
