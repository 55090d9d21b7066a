// Gate: the committed protobuf code is what proto/generate.sh writes. Generates into a temporary
// folder and compares; writes nothing in the tree.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Finding } from "./findings.ts";
import { reportFindings } from "./findings.ts";
import { runCommand } from "../run-command.ts";
import type { Files } from "./source-tree.ts";
import { readFiles } from "./source-tree.ts";

/** The generated folder, from the root of the repository. */
const GENERATED = "proto/src/generated";

/** Files of `committed` that are not as in `fresh`, missing ones and left-over ones included. */
export function compareGenerated(committed: Files, fresh: Files): readonly Finding[] {
  const paths = [...new Set([...committed.keys(), ...fresh.keys()])];
  return paths.flatMap((path) => {
    if (committed.get(path) === fresh.get(path)) return [];
    const state = !committed.has(path)
      ? "is missing"
      : !fresh.has(path)
        ? "is no longer generated"
        : "is not what its .proto file gives";
    return [{ file: `${GENERATED}/${path}`, rule: "generated", message: `The file ${state}: run make generate` }];
  });
}

if (import.meta.main) {
  const folder = mkdtempSync(join(tmpdir(), "weir-protobuf-"));
  try {
    const { code, output } = await runCommand(["sh", "proto/generate.sh", folder]);
    if (code === 0) {
      reportFindings(
        compareGenerated(readFiles(GENERATED, isGenerated), readFiles(join(folder, "src/generated"), isGenerated)),
      );
    } else {
      console.log(output);
      process.exitCode = 1;
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function isGenerated(path: string): boolean {
  return path.endsWith(".ts");
}
