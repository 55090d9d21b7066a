// Reads the files of the repository for the gates: paths from the root with `/`, and their text.
// What is built, installed or kept for one machine is left out.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** Folders that hold nothing written by hand, whatever their place. */
const LEFT_OUT = new Set(["node_modules", "dist", "coverage", ".git", ".run", ".cache", ".vitest"]);

/** Path from the root → text. */
export type Files = ReadonlyMap<string, string>;

/** Paths of all files under `root` that `wanted` accepts, sorted. */
export function listFiles(root: string, wanted: (path: string) => boolean): readonly string[] {
  const paths: string[] = [];
  const folders = [""];
  for (const folder of folders) {
    for (const entry of readdirSync(join(root, folder), { withFileTypes: true })) {
      const path = `${folder}${entry.name}`;
      if (entry.isDirectory() && !LEFT_OUT.has(entry.name)) folders.push(`${path}/`);
      else if (entry.isFile() && wanted(path)) paths.push(path);
    }
  }
  return paths.toSorted();
}

/** The files under `root` that `wanted` accepts. */
export function readFiles(root: string, wanted: (path: string) => boolean): Files {
  return new Map(listFiles(root, wanted).map((path) => [path, readFileSync(join(root, path), "utf8")]));
}
