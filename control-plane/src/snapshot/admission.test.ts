// Tests of admission.ts: which revisions are published when not all of them fit.
import { describe, expect, it } from "vitest";

import type { AcceptedResource } from "../translate/desired-configuration.ts";
import { type Admission, admit, type AdmissionBounds, type Applicant } from "./admission.ts";
import { revisionOf, type RevisionText } from "./revisions.suite.ts";
import { Snapshot } from "./snapshot.ts";

/** A snapshot without resources has these bytes. */
const HEAD_BYTES = new Snapshot([]).sizeBytes;
const BOUNDS: AdmissionBounds = { snapshotMaxBytes: HEAD_BYTES + 100, namespaceMaxBytes: undefined };
const PER_NAMESPACE: AdmissionBounds = { ...BOUNDS, namespaceMaxBytes: 60 };

interface ResourceText extends RevisionText {
  readonly fleets?: readonly string[];
  readonly lastGood?: Omit<RevisionText, "name"> & { readonly fleets?: readonly string[] };
}

/** Served is what an earlier admission has admitted of the same resource, or its last good revision. */
function applicant({ fleets, lastGood, ...text }: ResourceText, before?: Admission): Applicant {
  const revision = revisionOf(text);
  const { name: key, namespace, identity, createdMs, domain } = revision;
  const name = key.slice(namespace.length + 1);
  const resource = { key, namespace, name, identity, createdMs, domain, fleets } as AcceptedResource;
  const kept = before?.admitted.get(key);
  if (kept?.revision.identity === identity) return { resource, revision, served: kept };
  const served = lastGood && {
    revision: revisionOf({ ...text, ...lastGood, sequence: 0 }),
    fleets: lastGood.fleets ?? fleets,
  };
  return { resource, revision, served };
}

function admitTexts(before: Admission | undefined, texts: readonly ResourceText[], bounds = BOUNDS): Admission {
  const fleets = [...new Set(texts.flatMap((text) => text.fleets ?? []))];
  return admit(
    texts.map((text) => applicant(text, before)),
    fleets,
    bounds,
  );
}

/** The size of each published resource by name, in bytes. */
function sizes({ admitted }: Admission): Readonly<Record<string, number>> {
  return Object.fromEntries([...admitted].map(([name, { revision }]) => [name, revision.bytes.length]));
}

function waiting(admission: Admission): readonly string[] {
  return admission.waiting.map(({ resource }) => resource.key);
}

describe("admit()", () => {
  it("publishes everything that fits, to the byte", () => {
    const admission = admitTexts(undefined, [
      { name: "a", sizeBytes: 40 },
      { name: "b", sizeBytes: 60 },
    ]);
    expect([sizes(admission), waiting(admission)]).toEqual([{ "default/a": 40, "default/b": 60 }, []]);
  });

  it("serves the oldest that fit at the start, and says why the others wait", () => {
    const admission = admitTexts(undefined, [
      { name: "a", sizeBytes: 60, createdMs: 3 },
      { name: "b", sizeBytes: 60, createdMs: 1 },
      { name: "c", sizeBytes: 41, createdMs: 2 },
      { name: "d", sizeBytes: 30, createdMs: 4 },
    ]);
    expect(sizes(admission)).toEqual({ "default/b": 60, "default/d": 30 });
    expect(
      admission.waiting.map(({ resource, message, keepsEarlier }) => [resource.key, message, keepsEarlier]),
    ).toEqual([
      [
        "default/c",
        `with it the configuration of fleet * has ${HEAD_BYTES + 101} bytes, more than SNAPSHOT_MAX_BYTES, which is ${HEAD_BYTES + 100}`,
        false,
      ],
      [
        "default/a",
        `with it the configuration of fleet * has ${HEAD_BYTES + 120} bytes, more than SNAPSHOT_MAX_BYTES, which is ${HEAD_BYTES + 100}`,
        false,
      ],
    ]);
  });

  it("keeps what is published when an older resource comes or grows", () => {
    const first = admitTexts(undefined, [
      { name: "young", sizeBytes: 70, createdMs: 9 },
      { name: "old", sizeBytes: 20 },
    ]);
    const texts = [
      { name: "young", sizeBytes: 70, createdMs: 9 },
      { name: "old", content: 2, sizeBytes: 40 },
      { name: "older", sizeBytes: 20, createdMs: 0 },
    ];
    const second = admitTexts(first, texts);
    expect(sizes(second)).toEqual({ "default/young": 70, "default/old": 20 });
    expect(second.waiting.map(({ resource, keepsEarlier }) => [resource.key, keepsEarlier])).toEqual([
      ["default/old", true],
      ["default/older", false],
    ]);
  });

  it("case A13: takes in every other edit, new resource and deletion meanwhile", () => {
    const first = admitTexts(undefined, [
      { name: "a", sizeBytes: 50 },
      { name: "b", sizeBytes: 20 },
    ]);
    const second = admitTexts(first, [
      { name: "a", content: 2, sizeBytes: 90 },
      { name: "b", content: 2, sizeBytes: 25 },
      { name: "c", sizeBytes: 10 },
    ]);
    expect([sizes(second), waiting(second)]).toEqual([
      { "default/a": 50, "default/b": 25, "default/c": 10 },
      ["default/a"],
    ]);
  });

  it("tries again what waits at every change, the oldest first, after what shrinks", () => {
    const young = { name: "young", sizeBytes: 60, createdMs: 9 };
    const first = admitTexts(undefined, [young, { name: "old", sizeBytes: 30, createdMs: 1 }]);
    const grown = { name: "old", content: 2, sizeBytes: 50, createdMs: 1 };
    const further = { name: "further", sizeBytes: 45, createdMs: 2 };
    const second = admitTexts(first, [young, grown, further]);
    expect(waiting(second)).toEqual(["default/old", "default/further"]);
    const third = admitTexts(second, [{ ...young, content: 2, sizeBytes: 10 }, grown, further]);
    expect([sizes(third), waiting(third)]).toEqual([{ "default/young": 10, "default/old": 50 }, ["default/further"]]);
  });

  it("takes in what waits when a younger one gives up room where it does not grow", () => {
    const first = admitTexts(undefined, [{ name: "young", sizeBytes: 90, createdMs: 9, fleets: ["core"] }]);
    const second = admitTexts(first, [
      { name: "young", content: 2, sizeBytes: 20, createdMs: 9, fleets: ["core", "edge"] },
      { name: "old", sizeBytes: 50, createdMs: 1, fleets: ["core"] },
    ]);
    expect([sizes(second), waiting(second)]).toEqual([{ "default/young": 20, "default/old": 50 }, []]);
  });

  it("counts each fleet by itself, with what is for all fleets", () => {
    const admission = admitTexts(undefined, [
      { name: "all", sizeBytes: 40 },
      { name: "core", sizeBytes: 60, fleets: ["core"], createdMs: 1 },
      { name: "edge", sizeBytes: 60, fleets: ["edge"], createdMs: 1 },
      { name: "both", sizeBytes: 5, fleets: ["core", "edge"], createdMs: 2 },
    ]);
    expect(waiting(admission)).toEqual(["default/both"]);
    expect(admission.waiting[0]?.message).toMatch(/^with it the configuration of fleet core has /);
  });

  it("keeps the earlier revision in all fleets when the present one does not fit into one of them", () => {
    const both = { name: "both", sizeBytes: 10, fleets: ["core", "edge"] };
    const core = { name: "core", sizeBytes: 90, fleets: ["core"] };
    const first = admitTexts(undefined, [both, core]);
    const second = admitTexts(first, [{ ...both, content: 2, sizeBytes: 20 }, core]);
    expect([second.admitted.get("default/both")?.revision.bytes.length, waiting(second)]).toEqual([
      10,
      ["default/both"],
    ]);
    expect(second.admitted.get("default/both")?.fleets).toEqual(["core", "edge"]);
  });

  it("follows the present fleets with an earlier revision where that needs no bytes", () => {
    const core = { name: "core", sizeBytes: 90, fleets: ["core"] };
    const first = admitTexts(undefined, [core, { name: "a", sizeBytes: 20, fleets: ["edge", "west"] }]);
    const second = admitTexts(first, [core, { name: "a", sizeBytes: 20, fleets: ["core", "edge"] }]);
    expect([second.admitted.get("default/a")?.fleets, waiting(second)]).toEqual([["edge"], ["default/a"]]);
  });

  it("inherits nothing from a resource of another identity", () => {
    const big = { name: "big", sizeBytes: 80 };
    const first = admitTexts(undefined, [big, { name: "a", sizeBytes: 20 }]);
    const second = admitTexts(first, [big, { name: "a", content: 2, sizeBytes: 30, identity: "two" }]);
    expect([sizes(second), waiting(second)]).toEqual([{ "default/big": 80 }, ["default/a"]]);
  });

  it("takes last good revisions as served", () => {
    const admission = admitTexts(undefined, [
      { name: "young", sizeBytes: 70, createdMs: 9, lastGood: { sizeBytes: 70 } },
      { name: "old", content: 2, sizeBytes: 60, createdMs: 1, lastGood: { content: 1, sizeBytes: 20 } },
      { name: "new", sizeBytes: 20, createdMs: 0 },
    ]);
    expect([sizes(admission), waiting(admission)]).toEqual([
      { "default/young": 70, "default/old": 20 },
      ["default/new", "default/old"],
    ]);
  });

  it("takes a last good revision as served in its own fleets only", () => {
    const admission = admitTexts(undefined, [
      { name: "core", sizeBytes: 90, fleets: ["core"], lastGood: { sizeBytes: 90 } },
      { name: "a", sizeBytes: 20, fleets: ["core", "edge"], lastGood: { sizeBytes: 20, fleets: ["edge"] } },
    ]);
    expect([admission.admitted.get("default/a")?.fleets, waiting(admission)]).toEqual([["edge"], ["default/a"]]);
  });

  it("keeps the fleets in the manifest of a revision that waits for a further fleet", () => {
    const core = { name: "core", sizeBytes: 90, fleets: ["core"] };
    const first = admitTexts(undefined, [core, { name: "a", sizeBytes: 20, fleets: ["edge"] }]);
    const second = admitTexts(first, [core, { name: "a", sizeBytes: 20, fleets: ["core", "edge"] }]);
    // A revision of it is served where the manifest says.
    expect(second.admitted.get("default/a")?.revision).toBe(first.admitted.get("default/a")?.revision);
  });

  it("serves the oldest that fit when a bound was lowered", () => {
    const texts = [
      { name: "a", sizeBytes: 60, createdMs: 2 },
      { name: "b", sizeBytes: 40, createdMs: 1 },
      { name: "c", sizeBytes: 10, createdMs: 3 },
    ];
    const first = admitTexts(undefined, texts, { snapshotMaxBytes: HEAD_BYTES + 110, namespaceMaxBytes: undefined });
    const lower = { snapshotMaxBytes: HEAD_BYTES + 50, namespaceMaxBytes: undefined };
    const second = admitTexts(first, texts, lower);
    expect([sizes(second), waiting(second)]).toEqual([{ "default/b": 40, "default/c": 10 }, ["default/a"]]);
  });

  describe("with a bound for namespaces", () => {
    it("refuses what grows a namespace beyond it, and nothing of others", () => {
      const first = admitTexts(
        undefined,
        [
          { name: "one/a", sizeBytes: 50 },
          { name: "two/a", sizeBytes: 10 },
        ],
        PER_NAMESPACE,
      );
      const texts = [
        { name: "one/a", sizeBytes: 50 },
        { name: "one/b", sizeBytes: 11 },
        { name: "two/a", content: 2, sizeBytes: 45 },
      ];
      const second = admitTexts(first, texts, PER_NAMESPACE);
      expect([sizes(second), waiting(second)]).toEqual([{ "one/a": 50, "two/a": 45 }, ["one/b"]]);
      expect(second.waiting[0]?.message).toBe(
        "with it the resources of namespace one have 61 bytes in fleet *, more than SNAPSHOT_NAMESPACE_MAX_BYTES, which is 60",
      );
    });

    it("serves nothing beyond it at the start either, also of last good revisions", () => {
      const texts = [
        { name: "one/a", sizeBytes: 50, createdMs: 1, lastGood: { sizeBytes: 50 } },
        { name: "one/b", sizeBytes: 30, createdMs: 2, lastGood: { sizeBytes: 30 } },
        { name: "one/c", sizeBytes: 10, createdMs: 3 },
        { name: "two/a", sizeBytes: 10, createdMs: 4 },
      ];
      const start = admitTexts(undefined, texts, PER_NAMESPACE);
      const expected = [{ "one/a": 50, "one/c": 10, "two/a": 10 }, ["one/b"]];
      expect([sizes(start), waiting(start)]).toEqual(expected);
      const later = admitTexts(start, texts, PER_NAMESPACE);
      expect([sizes(later), waiting(later)]).toEqual(expected);
    });
  });
});
