// Decides which files of packages and of our own build an image carries: what Node.js loads, and licenses.

/** Folders at the top of a package that nothing loads. */
const UNUSED_FOLDERS = new Set([
  ".github",
  ".vscode",
  "__tests__",
  "benchmark",
  "benchmarks",
  "bench",
  "coverage",
  "doc",
  "docs",
  "example",
  "examples",
  "test",
  "tests",
]);

/** Endings of files that nothing loads: types, sources, source maps of packages, documentation. */
const UNUSED_ENDING = /\.(ts|mts|cts|map|md|markdown|tsbuildinfo|flow|c|cc|cpp|h|gyp|gypi)$/i;

/** Texts whose licenses ask for copies. */
const LICENSE = /^(licen[cs]e|copying|notice|patents)/i;

/** Names of files that nothing loads. */
const UNUSED_NAMES = /^(\.|changelog|history|readme|authors|tsconfig)/i;

/** Native addons for other platforms: packages bring those of all. */
const FOREIGN_ADDON = new RegExp(`^prebuilds/(?!linux-${process.arch}/)|\\.musl\\.node$`);

/** Returns true if an image carries the file `path` of a package, relative to the package's folder. */
export function isPackageFile(path: string): boolean {
  const parts = path.split("/");
  const name = parts.at(-1) ?? "";
  if (LICENSE.test(name)) return true;
  if (parts.length > 1 && UNUSED_FOLDERS.has(parts[0] ?? "")) return false;
  if (UNUSED_NAMES.test(name) && !name.endsWith(".js") && !name.endsWith(".cjs")) return false;
  return !UNUSED_ENDING.test(name) && !FOREIGN_ADDON.test(path);
}

/** Files at the top of a workspace that its program reads: the mapping of statistics of weir-ratelimit. */
const READ_FILES = new Set(["package.json", "statistics-mapping.yaml"]);

/** Returns true if an image carries the file `path` of a workspace that is built, relative to its folder. */
export function isWorkspaceFile(path: string): boolean {
  if (READ_FILES.has(path)) return true;
  if (path.startsWith("bin/")) return true;
  // Source maps stay: stack traces name the line of the source.
  return path.startsWith("dist/") && !/\.(d\.ts|d\.ts\.map|tsbuildinfo)$/.test(path);
}
