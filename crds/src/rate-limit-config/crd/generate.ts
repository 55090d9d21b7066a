// Writes the CRD of RateLimitConfig. With --check it writes nothing, and ends with 1 when the file is out of date.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

import { crdYaml } from "./crd.ts";

const CRD_FILE = fileURLToPath(new URL("../../../crds/ratelimitconfigs.yaml", import.meta.url));

if (!process.argv.includes("--check")) writeFileSync(CRD_FILE, crdYaml());
else if (readFileSync(CRD_FILE, "utf8") !== crdYaml()) {
  process.stderr.write(`${CRD_FILE} is out of date: run make generate\n`);
  process.exitCode = 1;
}
