// Checks a RateLimitService as the API server, the webhook and the operator do, without any of them.
import type { ManifestProblem } from "../schema/problems.ts";
import { mayHaveFleet } from "./fleet.ts";
import { reservedFleetOf } from "./fleet-owner.ts";
import { parseRateLimitService, type RateLimitServiceResource, serviceRuleProblems } from "./schema/schema.ts";
import { checkEnvironment } from "./settings/check-environment.ts";

/** The findings in a manifest. */
export interface ServiceFindings {
  /** Present when the schema accepts it, also when there are problems between its fields. */
  readonly resource?: RateLimitServiceResource;
  readonly problems: readonly ManifestProblem[];
  readonly warnings: readonly ManifestProblem[];
}

/** Checks a manifest by itself. */
export function checkServiceManifest(value: unknown): ServiceFindings {
  const parsed = parseRateLimitService(value);
  if (!parsed.ok) return { problems: parsed.problems, warnings: [] };
  const { resource } = parsed;
  const environment = checkEnvironment(resource.spec);
  const fleet = fleetFindings(resource);
  return {
    resource,
    problems: [...serviceRuleProblems(resource), ...environment.problems, ...fleet.problems],
    warnings: [...parsed.warnings, ...environment.warnings, ...fleet.warnings],
  };
}

/** A fleet of another namespace; a warning while kubectl decides the namespace. */
function fleetFindings({ metadata, spec }: RateLimitServiceResource): Omit<ServiceFindings, "resource"> {
  const { fleet } = spec;
  if (fleet === undefined) return { problems: [], warnings: [] };
  const path = ["spec", "fleet"];
  if (metadata.namespace !== undefined) {
    const message = reservedFleetOf({ namespace: metadata.namespace, fleet });
    return { problems: message === undefined ? [] : [{ path, message }], warnings: [] };
  }
  // No namespace has the empty name: only fleets without a dot pass.
  if (mayHaveFleet("", fleet)) return { problems: [], warnings: [] };
  const [owner = ""] = fleet.split(".");
  const message = `the fleet ${JSON.stringify(fleet)} belongs to the namespace ${owner}, and metadata.namespace is absent: apply it in ${owner}`;
  return { problems: [], warnings: [{ path, message }] };
}
