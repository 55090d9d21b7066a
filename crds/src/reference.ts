// The kinds for the pages of docs/reference, which tools/generate/reference-docs.ts writes.
import { CONFIG_DEFINITION } from "./rate-limit-config/crd/crd.ts";
import { REVISION_DEFINITION } from "./rate-limit-config-revision/crd/crd.ts";
import { SERVICE_DEFINITION } from "./rate-limit-service/crd/crd.ts";
import { type Definition, readableSchema, type StructuralSchema } from "./schema/definition.ts";

/** A kind, and its whole schema. */
export interface DocumentedKind extends Pick<
  Definition,
  "kind" | "plural" | "shortName" | "description" | "columns" | "selectableFields"
> {
  readonly schema: StructuralSchema;
}

/** Every kind. */
export function documentedKinds(): readonly DocumentedKind[] {
  return [CONFIG_DEFINITION, SERVICE_DEFINITION, REVISION_DEFINITION].map((definition) => ({
    ...definition,
    schema: readableSchema(definition),
  }));
}
