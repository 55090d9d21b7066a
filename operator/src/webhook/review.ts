// Finds what is wrong, and what is perhaps not meant, in a resource that is about to be stored. It
// changes nothing, so a dry run is like any other.
import { isDeepStrictEqual } from "node:util";

import { KIND, parseRateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { modelOfResource, ruleProblems } from "@weir/crds/rate-limit-config/translate/translate";
import { fleetOf } from "@weir/crds/rate-limit-service/fleet";
import { fleetConflictOf, fleetOwners, reservedFleetOf } from "@weir/crds/rate-limit-service/fleet-owner";
import { parseRateLimitService, SERVICE_KIND } from "@weir/crds/rate-limit-service/schema/schema";
import { checkEnvironment } from "@weir/crds/rate-limit-service/settings/check-environment";
import { API_VERSION } from "@weir/crds/schema/api-version";
import type { ManifestProblem } from "@weir/crds/schema/problems";
import { type Mapping, mappingOf } from "@weir/kubernetes/mapping";
import { findRuleWarnings } from "@weir/limits/explain/rule-warnings";
import { type FieldPath, fieldPath } from "@weir/limits/model/field-path";

import { createdMsOf, readService } from "../certificates/read-service.ts";
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import type { AdmissionRequest, Findings } from "./admission-review.ts";
import { domainOwnerOf } from "./domain-owner.ts";

/** Namespace of an object that names none. */
const DEFAULT_NAMESPACE = "default";

const [GROUP] = API_VERSION.split("/");

const NOTHING: Findings = { problems: [], warnings: [] };

/** The state of the cluster that warnings depend on. */
export interface ReviewContext {
  /** Milliseconds since the epoch. */
  readonly clock: () => number;
  /** The RateLimitConfigs. */
  readonly configs: Pick<ObjectLookup, "list">;
  /** The RateLimitServices. */
  readonly services: Pick<ObjectLookup, "list">;
  /** Returns true if a pod of the fleet is connected; undefined when that is not known. */
  readonly hasPods: (fleet: string) => boolean | undefined;
}

/** Reviews a change. Objects of other kinds, and deletions, have nothing wrong. */
export function review({ group, kind, object, oldObject }: AdmissionRequest, context: ReviewContext): Findings {
  if (group !== GROUP || object === undefined) return NOTHING;
  // A resource that is being deleted must be able to go.
  if (mappingOf(object["metadata"])?.["deletionTimestamp"] !== undefined) return NOTHING;
  const findings =
    kind === KIND
      ? reviewConfig(object, context)
      : kind === SERVICE_KIND
        ? reviewService(object, context, oldObject === undefined)
        : NOTHING;
  // Labels of a resource that is invalid already can be changed, and its rules switched off; its status says
  // what is wrong.
  const isSameSpec = oldObject !== undefined && isDeepStrictEqual(rulesIn(object), rulesIn(oldObject));
  return isSameSpec ? { problems: [], warnings: [...findings.problems, ...findings.warnings] } : findings;
}

/** The spec without the switch of all its rules. */
function rulesIn(object: Mapping): Mapping {
  return { ...mappingOf(object["spec"]), shadowMode: undefined };
}

function reviewConfig(object: Mapping, context: ReviewContext): Findings {
  const parsed = parseRateLimitConfigResource(object, { unknownFields: "ignore" });
  const problems = parsed.ok ? ruleProblems(parsed.resource) : parsed.problems;
  if (!parsed.ok || problems.length > 0) return { problems: problems.map(textOfProblem), warnings: [] };
  const { metadata, spec } = parsed.resource;
  const { namespace = DEFAULT_NAMESPACE, name } = metadata;
  const { domain, fleets } = spec;
  const createdMs = createdMsOf(object) || context.clock();
  const conflict = domainOwnerOf({ namespace, name, createdMs, domain, fleets }, context.configs);
  const inSpec = (path: FieldPath): string => fieldPath(["spec", ...path]);
  return {
    problems: [],
    warnings: [
      ...(conflict === undefined ? [] : [`spec.domain: ${ownedText(domain, conflict)}`]),
      ...(fleets ?? []).flatMap((fleet, index) =>
        context.hasPods(fleet) === false
          ? [`spec.fleets[${index}]: no rate limit pod of the fleet ${JSON.stringify(fleet)} is connected`]
          : [],
      ),
      ...findRuleWarnings(modelOfResource(parsed.resource), inSpec).map(
        ({ path, message }) => `${inSpec(path)}: ${message}`,
      ),
    ],
  };
}

/** A fleet that is another's already cannot be changed: only its status refuses it then, not every edit. */
function reviewService(object: Mapping, { services, clock }: ReviewContext, isNew: boolean): Findings {
  const parsed = parseRateLimitService(object, { unknownFields: "ignore" });
  if (!parsed.ok) return { problems: parsed.problems.map(textOfProblem), warnings: [] };
  const { metadata, spec } = parsed.resource;
  const environment = checkEnvironment(spec);
  const { namespace = DEFAULT_NAMESPACE, name } = metadata;
  const member = { namespace, name, fleet: fleetOf(parsed.resource), createdMs: createdMsOf(object) || clock() };
  const others = services
    .list()
    .map(readService)
    .filter((other) => other.namespace !== namespace || other.name !== name);
  const reserved = reservedFleetOf(member);
  const conflict = fleetConflictOf(member, fleetOwners([...others, member]));
  const inFleet = (text: string | undefined): readonly string[] => (text === undefined ? [] : [`spec.fleet: ${text}`]);
  return {
    problems: [...(isNew ? inFleet(reserved) : []), ...environment.problems.map(textOfProblem)],
    warnings: [
      ...(isNew && reserved !== undefined ? [] : inFleet(conflict)),
      ...environment.warnings.map(textOfProblem),
    ],
  };
}

function ownedText(domain: string, { owner, fleet }: NonNullable<ReturnType<typeof domainOwnerOf>>): string {
  const where = fleet === undefined ? "" : ` in fleet ${JSON.stringify(fleet)}`;
  return `domain ${JSON.stringify(domain)} belongs to ${owner.namespace}/${owner.name}${where}: the oldest resource owns a domain`;
}

/** As in the status. */
function textOfProblem({ path, message }: ManifestProblem): string {
  return path.length === 0 ? message : `${fieldPath(path)}: ${message}`;
}
