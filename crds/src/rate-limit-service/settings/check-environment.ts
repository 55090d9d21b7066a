// Checks the names in `env` of a RateLimitService against the settings of the data plane.
import { editDistance } from "@weir/common/text/edit-distance";

import type { ManifestProblem } from "../../schema/problems.ts";
import type { RateLimitServiceSpec } from "../schema/schema.ts";
import { DATA_PLANE_SETTINGS, SETTINGS_WITHOUT_EFFECT } from "./data-plane-settings.ts";
import { fieldOfReserved, spellingsOf } from "./reserved-settings.ts";

/** Variables that Node.js, OpenSSL, the OTLP exporter and the C library read by themselves. */
const OF_OTHERS =
  /^(NODE_|OTEL_|SSL_CERT_|UV_THREADPOOL_SIZE$|TZ$|LANG$|LC_|(HTTPS?|NO|ALL)_PROXY$|(https?|no|all)_proxy$)/;

/** How many unknown names are compared with the known ones, which takes a millisecond or more each. */
const HINTS_MAX = 5;

/** Part of the name of a setting in the place of which any text may be. */
const ANY = "<NAME>";

const SPELLINGS = DATA_PLANE_SETTINGS.flatMap((setting) => spellingsOf(setting));
const KNOWN: ReadonlySet<string> = new Set(SPELLINGS);
const NAME_LENGTH_MAX = Math.max(...SPELLINGS.map(({ length }) => length));
const FAMILIES = SPELLINGS.filter((name) => name.includes(ANY)).map((name) => name.split(ANY));

/** The problems and warnings of an environment. */
export interface EnvironmentFindings {
  /** The resource must not be rolled out with these. */
  readonly problems: readonly ManifestProblem[];
  /** Variables that have no effect, or may be meant differently. */
  readonly warnings: readonly ManifestProblem[];
}

/**
 * Checks `env`. Names that the operator sets are problems. A name that this release does not know is a
 * problem with its own image; with another one (`image`), which may be newer, a warning. The nearest
 * known name is given for the first few.
 */
export function checkEnvironment({
  env = [],
  image,
}: Pick<RateLimitServiceSpec, "env" | "image">): EnvironmentFindings {
  const problems: ManifestProblem[] = [];
  const warnings: ManifestProblem[] = [];
  let hints = 0;
  for (const [index, { name }] of env.entries()) {
    const path = ["spec", "env", index, "name"];
    const field = fieldOfReserved(name);
    const reason = Object.hasOwn(SETTINGS_WITHOUT_EFFECT, name) ? SETTINGS_WITHOUT_EFFECT[name] : undefined;
    if (field !== null) problems.push({ path, message: reservedMessage(name, field) });
    else if (reason !== undefined) warnings.push({ path, message: `${name} has no effect: ${reason}` });
    else if (!isKnown(name)) {
      const message = `unknown setting ${name}${hints < HINTS_MAX ? hintFor(name) : ""}`;
      hints += 1;
      (image === undefined ? problems : warnings).push({ path, message });
    }
  }
  return { problems, warnings };
}

function isKnown(name: string): boolean {
  if (KNOWN.has(name) || OF_OTHERS.test(name)) return true;
  return FAMILIES.some(
    ([prefix = "", suffix = ""]) =>
      name.length > prefix.length + suffix.length && name.startsWith(prefix) && name.endsWith(suffix),
  );
}

function reservedMessage(name: string, field: string | undefined): string {
  if (field === undefined) return `${name} is set by the operator, and cannot be changed`;
  return `${name} is set by the operator: use spec.${field}`;
}

function hintFor(name: string): string {
  if (name.length > NAME_LENGTH_MAX) return "";
  const [nearest] = SPELLINGS.filter((candidate) => !candidate.includes(ANY))
    .map((candidate) => ({ candidate, edits: editDistance(name.toUpperCase(), candidate.toUpperCase()) }))
    .toSorted((left, right) => left.edits - right.edits);
  if (nearest === undefined) return "";
  const field = fieldOfReserved(nearest.candidate);
  const hint = typeof field === "string" ? `, which is spec.${field}` : "";
  return `; the nearest known one is ${nearest.candidate}${hint}`;
}
