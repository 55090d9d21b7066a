// Writes the CRD of RateLimitConfigRevision. With --check it writes nothing, and ends with 1 when the file is out of date.
import { fileURLToPath } from "node:url";

import { emitDefinition } from "../../schema/definition.ts";
import { revisionCrdYaml } from "./crd.ts";

emitDefinition(
  fileURLToPath(new URL("../../../crds/ratelimitconfigrevisions.yaml", import.meta.url)),
  revisionCrdYaml(),
);
