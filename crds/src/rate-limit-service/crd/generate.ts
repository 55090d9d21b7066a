// Writes the CRD of RateLimitService. With --check it writes nothing, and ends with 1 when the file is out of date.
import { fileURLToPath } from "node:url";

import { emitDefinition } from "../../schema/definition.ts";
import { serviceCrdYaml } from "./crd.ts";

emitDefinition(fileURLToPath(new URL("../../../crds/ratelimitservices.yaml", import.meta.url)), serviceCrdYaml());
