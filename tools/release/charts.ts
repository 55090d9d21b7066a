// Finds the charts of the repository and the files that belong into their packages.
import { existsSync, globSync, readFileSync } from "node:fs";
import { join, matchesGlob } from "node:path";

export interface Chart {
  readonly name: string;
  readonly version: string;
  readonly appVersion: string;
  /** Files, relative to the chart's folder, sorted. */
  readonly files: readonly string[];
}

/** Every chart below `charts` in the folder `root`. */
export function findCharts(root: string): readonly Chart[] {
  return globSync("charts/*/Chart.yaml", { cwd: root })
    .toSorted()
    .map((path) => {
      const folder = join(root, path, "..");
      const text = readFileSync(join(root, path), "utf8");
      const field = (name: string): string => new RegExp(`^${name}:\\s*["']?([^"'\\s]+)`, "m").exec(text)?.[1] ?? "";
      const ignored = existsSync(join(folder, ".helmignore")) ? readFileSync(join(folder, ".helmignore"), "utf8") : "";
      const all = globSync("**/*", { cwd: folder, withFileTypes: true }).filter((entry) => entry.isFile());
      const files = all.map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
      return {
        name: field("name"),
        version: field("version"),
        appVersion: field("appVersion"),
        files: files.filter((file) => !isIgnored(file, ignored)).toSorted(),
      };
    });
}

/** Returns true if the lines of a .helmignore exclude `path`: names anywhere, and paths from the chart's folder. */
export function isIgnored(path: string, helmignore: string): boolean {
  const patterns = helmignore
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "" && !line.startsWith("#"));
  const parts = path.split("/");
  return patterns.some((pattern) => {
    const plain = pattern.replace(/\/$/, "");
    if (plain.includes("/"))
      return matchesGlob(path, plain.replace(/^\//, "")) || path.startsWith(`${plain.replace(/^\//, "")}/`);
    const names = pattern.endsWith("/") ? parts.slice(0, -1) : parts;
    return names.some((name) => matchesGlob(name, plain));
  });
}
