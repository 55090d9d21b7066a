// Cuts the notes of one release out of CHANGELOG.md.

/** The section of `version`, or that of unreleased changes while it has none, without its heading. */
export function releaseNotes(changelog: string, version: string): string {
  const sections = new Map(
    changelog
      .split(/^## /m)
      .slice(1)
      .map((section) => {
        const end = section.indexOf("\n");
        const [title = ""] = section.slice(0, end).replaceAll(/[[\]]/g, "").split(/\s+/);
        return [title.toLowerCase(), section.slice(end).trim()] as const;
      }),
  );
  const notes = sections.get(version) ?? sections.get("unreleased");
  if (notes === undefined || notes === "")
    throw new Error(`Cannot write release notes: CHANGELOG.md has no section "${version}" and none "Unreleased"`);
  return `# Weir ${version}\n\n${notes}\n`;
}
