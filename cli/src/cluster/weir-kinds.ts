// The kinds of Weir that have a status, and the names by which kubectl knows them. Pure.
import type { ApiKind } from "@weir/kubernetes/client/api-resource";

/** A kind, and its names. */
export interface WeirKind {
  readonly kind: "RateLimitConfig" | "RateLimitService";
  readonly api: ApiKind;
  readonly shortName: string;
  /**
   * Its conditions and their values when all is well. The first that differs says what is wrong, so causes
   * come before what follows from them.
   */
  readonly expects: readonly (readonly [type: string, status: "True" | "False"])[];
}

const API = { group: "ratelimit.weir.dev", version: "v1alpha1" } as const;

export const RATE_LIMIT_CONFIG: WeirKind = {
  kind: "RateLimitConfig",
  api: { ...API, plural: "ratelimitconfigs" },
  shortName: "rlc",
  expects: [["Ready", "True"]],
};

/** Data planes. */
export const RATE_LIMIT_SERVICE: WeirKind = {
  kind: "RateLimitService",
  api: { ...API, plural: "ratelimitservices" },
  shortName: "rls",
  // Ready follows from these: it is not in the statuses of earlier operators.
  expects: [
    ["Degraded", "False"],
    ["Available", "True"],
    ["Progressing", "False"],
    ["Connected", "True"],
  ],
};

const KINDS = [RATE_LIMIT_CONFIG, RATE_LIMIT_SERVICE];

/** The kind of a name as kubectl accepts it: short, singular, plural, with or without group; undefined: none. */
export function kindNamed(name: string): WeirKind | undefined {
  const wanted = name.toLowerCase();
  return KINDS.find((each) =>
    [each.kind.toLowerCase(), each.api.plural].some(
      (known) => wanted === each.shortName || wanted === known || wanted === `${known}.${API.group}`,
    ),
  );
}

/** The names for a message. */
export const KIND_NAMES = KINDS.map(({ kind, shortName }) => `${shortName} (${kind})`).join(", ");
