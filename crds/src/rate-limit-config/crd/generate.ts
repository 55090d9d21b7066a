// Writes the CRD of RateLimitConfig. With --check it writes nothing, and ends with 1 when the file is out of date.
import { fileURLToPath } from "node:url";

import { emitDefinition } from "../../schema/definition.ts";
import { crdYaml } from "./crd.ts";

emitDefinition(fileURLToPath(new URL("../../../crds/ratelimitconfigs.yaml", import.meta.url)), crdYaml());
