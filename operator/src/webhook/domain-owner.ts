// The owner of a domain among the resources of a cache, as the control plane decides it.
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import { createdMsOf } from "../certificates/read-service.ts";
import { parseRateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { ruleProblems } from "@weir/crds/rate-limit-config/translate/translate";
import { type Age, type Claim, compareAge, Ownership } from "@weir/limits/ownership/ownership";
import { mappingOf } from "@weir/kubernetes/mapping";

/** A resource that claims a domain. */
export type DomainClaim = Age & Claim;

/** The resource that a claim loses its domain to, and the fleet in which; undefined when it gets it. */
export function domainOwnerOf(
  claim: DomainClaim,
  configs: Pick<ObjectLookup, "list">,
): { readonly owner: Age; readonly fleet: string | undefined } | undefined {
  const ownership = new Ownership<DomainClaim>();
  for (const each of [claim, ...rivalsOf(claim, configs)].toSorted(compareAge)) {
    const conflict = ownership.claim(each);
    if (each === claim) return conflict;
  }
  return undefined;
}

/** Valid resources with the domain, but for the one that claims it. */
function rivalsOf(claim: DomainClaim, configs: Pick<ObjectLookup, "list">): readonly DomainClaim[] {
  return configs.list().flatMap(({ namespace, name, content }) => {
    if (namespace === claim.namespace && name === claim.name) return [];
    if (mappingOf(content["spec"])?.["domain"] !== claim.domain) return [];
    const parsed = parseRateLimitConfigResource(content, { unknownFields: "ignore" });
    // An invalid resource owns nothing.
    if (!parsed.ok || ruleProblems(parsed.resource).length > 0) return [];
    const { domain, fleets } = parsed.resource.spec;
    return [{ namespace, name, createdMs: createdMsOf(content), domain, fleets }];
  });
}
