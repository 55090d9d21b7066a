// Finds in the merged reports which revisions all pods have loaded. Pure.
import type { ResourceReports } from "../reports/merged-reports.ts";
import type { ObjectIdentity } from "./loaded-revisions.ts";

/**
 * The generation of a RateLimitConfig that every connected pod which is sent it, at least one, has ACKed,
 * as all replicas report it; undefined when that is not known, or not so.
 */
export function reportedGeneration(
  { uid }: Pick<ObjectIdentity, "uid">,
  { silent, awaited, replicas }: ResourceReports,
): number | undefined {
  if (silent.length > 0 || awaited.length > 0) return undefined;
  const known = replicas.map((replica) => replica.known);
  const [first] = known;
  if (first?.uid !== uid) return undefined;
  const isLoaded = known.every(
    (each) => each?.uid === uid && each.generation === first.generation && each.reason === "" && !each.servesLastGood,
  );
  const fleets = known.flatMap((each) => each?.fleets ?? []);
  const isAcked = fleets.every(({ pending, rejected }) => pending === 0 && rejected.length === 0);
  return isLoaded && isAcked && fleets.some(({ accepted }) => accepted > 0) ? first.generation : undefined;
}
