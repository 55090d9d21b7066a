// The notes of a release.
import { describe, expect, it } from "vitest";
import { releaseNotes } from "./release-notes.ts";

const CHANGELOG =
  "# Changelog\n\n## Unreleased\n\n### Added\n\n- Next.\n\n## [0.2.0] - 2026-11-23\n\n### Fixed\n\n- This.\n\n## 0.1.0\n\n- First.\n";

describe("releaseNotes()", () => {
  it.each([
    { version: "0.2.0", text: "### Fixed\n\n- This." },
    { version: "0.1.0", text: "- First." },
    { version: "0.3.0", text: "### Added\n\n- Next." }, // Not released yet.
  ])("cuts the section of $version", ({ version, text }) => {
    expect(releaseNotes(CHANGELOG, version)).toBe(`# Weir ${version}\n\n${text}\n`);
  });

  it("refuses a changelog without a section for the version", () => {
    expect(() => releaseNotes("# Changelog\n\n## 0.1.0\n\n- First.\n", "0.2.0")).toThrow("no section");
  });
});
