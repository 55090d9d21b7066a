// A fresh folder for one test file, gone at its end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Makes a folder that only this user can read. */
export function makeTemporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), "weir-e2e-"));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}
