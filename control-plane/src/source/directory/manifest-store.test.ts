// Tests of manifest-store.ts: what remains of broken files, and the work that many files cause.
import { beforeEach, describe, expect, it, vi } from "vitest";

import { manifest } from "../../translate/manifests.suite.ts";
import type { SourceState } from "../source.ts";
import { resourceKey } from "../source.ts";
import { ManifestStore } from "./manifest-store.ts";
import { type FileText, readContent } from "./read-manifest-file.ts";

// The real functions; their calls are counted.
vi.mock("../source.ts", { spy: true });
vi.mock("./read-manifest-file.ts", { spy: true });

beforeEach(() => {
  vi.clearAllMocks();
});

const GOOD_A = manifest({ name: "a", domain: "alpha", requestsPerUnit: 1 });
const NEW_A = manifest({ name: "a", domain: "alpha", requestsPerUnit: 2 });
const BAD_A = manifest({ name: "a", domain: "alpha", unit: "fortnight" });
const GOOD_B = manifest({ name: "b", domain: "beta", requestsPerUnit: 3 });

/** One update with files of these texts. */
function look(store: ManifestStore, files: Readonly<Record<string, string | FileText>>): SourceState {
  return store.update(
    new Map(
      Object.entries(files).map(
        ([path, text]) => [path, typeof text === "string" ? { kind: "text", text } : text] as const,
      ),
    ),
  );
}

/** Name, limit and whether an older revision is served, for each resource. */
function shown(state: SourceState): readonly string[] {
  return state.resources.map((resource) => {
    const limit = resource.resource.spec.descriptors?.[0]?.rateLimit?.requestsPerUnit ?? "none";
    return `${resourceKey(resource)} ${limit}${resource.isLastGood ? " last good" : ""}`;
  });
}

describe("ManifestStore.update()", () => {
  it("leaves out the youngest resources of a namespace that has too many", () => {
    const state = look(new ManifestStore(1), { "b.yaml": GOOD_B, "a.yaml": GOOD_A });
    expect(shown(state)).toEqual(["default/a 1"]);
    expect(state.refusals).toMatchObject([
      { reason: "TooMany", resource: "default/b", place: { file: "b.yaml", line: 1 } },
    ]);
  });

  it("leaves a broken file out when it has never been good", () => {
    const state = look(new ManifestStore(), { "a.yaml": BAD_A, "b.yaml": GOOD_B });
    expect(shown(state)).toEqual(["default/b 3"]);
    expect(state.refusals).toMatchObject([
      {
        keepsLastGood: false,
        field: "spec.descriptors[0].rateLimit.unit",
        place: { file: "a.yaml", line: 10, column: 15 },
      },
    ]);
  });

  it.each([
    { when: "a field is wrong", text: BAD_A },
    { when: "the YAML is broken", text: `${GOOD_A}\n  : [` },
    { when: "the program that wrote the file was killed before the first byte", text: "" },
    { when: "the file holds only white space", text: "\n  \n" },
    {
      when: "the file cannot be read",
      text: { kind: "unreadable", message: "this user may not read the file" } as const,
    },
  ])("keeps the last good revision when $when, through any number of updates", ({ text }) => {
    const store = new ManifestStore();
    look(store, { "a.yaml": GOOD_A });
    look(store, { "a.yaml": NEW_A });
    for (let count = 0; count < 2; count += 1) {
      const state = look(store, { "a.yaml": text });
      expect(shown(state)).toEqual(["default/a 2 last good"]);
      expect(state.refusals.map(({ keepsLastGood }) => keepsLastGood)).toEqual([true]);
    }
  });

  it("drops the last good revision when the file is gone or holds only a comment", () => {
    for (const end of [{}, { "a.yaml": { kind: "gone" } as const }, { "a.yaml": "# nothing\n" }]) {
      const store = new ManifestStore();
      look(store, { "a.yaml": GOOD_A });
      look(store, { "a.yaml": BAD_A });
      expect(look(store, end)).toEqual({ resources: [], refusals: [] });
    }
  });

  it("reads the valid documents of a file and keeps the last good revision of the invalid one", () => {
    const store = new ManifestStore();
    look(store, { "all.yaml": `${GOOD_A}---\n${GOOD_B}` });
    const state = look(store, {
      "all.yaml": `${BAD_A}---\n${manifest({ name: "b", domain: "beta", requestsPerUnit: 30 })}`,
    });
    expect(shown(state)).toEqual(["default/b 30", "default/a 1 last good"]);
  });

  it("keeps every document of a file when its YAML is broken", () => {
    const store = new ManifestStore();
    look(store, { "all.yaml": `${GOOD_A}---\n${GOOD_B}` });
    expect(shown(look(store, { "all.yaml": `${NEW_A}---\nspec: {` }))).toEqual([
      "default/a 1 last good",
      "default/b 3 last good",
    ]);
  });

  it("prefers the current revision in another file to the last good one", () => {
    const store = new ManifestStore();
    look(store, { "a.yaml": GOOD_A });
    expect(shown(look(store, { "a.yaml": BAD_A, "moved.yaml": NEW_A }))).toEqual(["default/a 2"]);
  });

  it("returns the same object when nothing has changed, also while a file is broken", () => {
    const store = new ManifestStore();
    look(store, { "a.yaml": GOOD_A });
    const broken = look(store, { "a.yaml": BAD_A });
    expect(look(store, { "a.yaml": BAD_A })).toBe(broken);
    expect(look(store, { "a.yaml": GOOD_A })).not.toBe(broken);
  });

  it("parses only the files whose text has changed, also while others are broken", () => {
    const store = new ManifestStore();
    const files = Object.fromEntries(
      Array.from(
        { length: 100 },
        (_, index) => [`${index}.yaml`, manifest({ name: `n${index}`, domain: `d${index}` })] as const,
      ),
    );
    look(store, { ...files, "broken.yaml": BAD_A });
    expect(readContent).toHaveBeenCalledTimes(101);
    vi.clearAllMocks();
    look(store, { ...files, "broken.yaml": BAD_A });
    expect(readContent).not.toHaveBeenCalled();
    const state = look(store, { ...files, "7.yaml": NEW_A, "broken.yaml": BAD_A, "new.yaml": GOOD_B });
    expect(vi.mocked(readContent).mock.calls).toEqual([
      ["7.yaml", NEW_A],
      ["new.yaml", GOOD_B],
    ]);
    expect([state.resources.length, state.refusals.length]).toEqual([101, 1]);
  });

  it.each([
    { what: "another resource", text: GOOD_B },
    { what: "a broken one", text: BAD_A },
  ])("reads each resource key as often among many files as among few when one of them becomes $what", ({ text }) => {
    const store = new ManifestStore();
    const files = Object.fromEntries(
      Array.from(
        { length: 300 },
        (_, index) => [`${index}.yaml`, manifest({ name: `n${index}`, domain: `d${index}` })] as const,
      ),
    );
    look(store, files);
    expect(vi.mocked(resourceKey).mock.calls.length).toBeLessThanOrEqual(4 * 300);
    vi.clearAllMocks();
    look(store, { ...files, "0.yaml": text });
    expect(vi.mocked(resourceKey).mock.calls.length).toBeLessThanOrEqual(4 * 300);
  });
});
