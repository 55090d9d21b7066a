// The owner of a domain among the resources of a cache, as the control plane decides it.
import type { ObjectLookup } from "../reconcile/object-cache.ts";
import { createdMsOf } from "../certificates/read-service.ts";
import { parseRateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { ruleProblems } from "@weir/crds/rate-limit-config/translate/translate";
import { type Age, type Claim, compareAge, Ownership } from "@weir/limits/ownership/ownership";
import { mappingOf } from "@weir/kubernetes/mapping";

/**
 * Most resources with the same domain that are checked, the oldest: a large one takes up to 70 ms, and
 * the API server waits 5 s.
 */
const RIVALS_MAX = 10;

/** A resource that claims a domain. */
export type DomainClaim = Age & Claim;

/** The resource that a claim loses its domain to, and the fleet in which; undefined when it gets it. */
export function domainOwnerOf(
  claim: DomainClaim,
  configs: Pick<ObjectLookup, "list">,
): { readonly owner: Age; readonly fleet: string | undefined } | undefined {
  const ownership = new Ownership<DomainClaim>();
  for (const rival of olderRivalsOf(claim, configs)) ownership.claim(rival);
  return ownership.claim(claim);
}

/** The valid ones of the oldest resources with the domain that are older than the claim, in order. */
function olderRivalsOf(claim: DomainClaim, configs: Pick<ObjectLookup, "list">): readonly DomainClaim[] {
  const rivals = configs
    .list()
    .filter(({ content }) => mappingOf(content["spec"])?.["domain"] === claim.domain)
    .map(({ namespace, name, content }) => ({ namespace, name, content, createdMs: createdMsOf(content) }))
    .filter((rival) => rival.namespace !== claim.namespace || rival.name !== claim.name)
    .filter((rival) => compareAge(rival, claim) < 0);
  return rivals
    .toSorted(compareAge)
    .slice(0, RIVALS_MAX)
    .flatMap(({ content, ...age }) => {
      const parsed = parseRateLimitConfigResource(content, { unknownFields: "ignore" });
      // An invalid resource owns nothing.
      if (!parsed.ok || ruleProblems(parsed.resource).length > 0) return [];
      const { domain, fleets } = parsed.resource.spec;
      return [{ ...age, domain, fleets }];
    });
}
