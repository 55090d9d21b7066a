// Writes the CRD of RateLimitConfig next to the sources. With --check it writes nothing and ends
// with 1 when the file is not what it would write.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

import { crdYaml } from "./crd.ts";

const CRD_FILE = fileURLToPath(new URL("../../../crds/ratelimitconfigs.yaml", import.meta.url));

process.exitCode = main(process.argv.slice(2));

function main(args: readonly string[]): number {
  const [mode] = args;
  if (args.length > 1 || (mode !== undefined && mode !== "--check")) {
    process.stderr.write("usage: generate.ts [--check]\n");
    return 2;
  }
  const fresh = crdYaml();
  if (mode === "--check") {
    if (committed() === fresh) return 0;
    process.stderr.write(`${CRD_FILE} is not what the schema gives: run make generate\n`);
    return 1;
  }
  mkdirSync(dirname(CRD_FILE), { recursive: true });
  writeFileSync(CRD_FILE, fresh);
  return 0;
}

function committed(): string | undefined {
  try {
    return readFileSync(CRD_FILE, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
