// An explained request as JSON, with the places of its rules. Pure.
import type { ExplainedDescriptor } from "@weir/limits/explain/explain";
import { compositeKey, type DescriptorModel, type RateLimitModel, windowFieldsOf } from "@weir/limits/model/model";
import type { PodCounts } from "@weir/proto/generated/weir/console/v1/console_pb";
import type { DescriptorCounts } from "@weir/proto/generated/weir/observe/v1/observe_pb";
import type { ConfiguredDomain } from "./configured-domain.ts";

/** One JSON object. */
export function explainJson(
  domain: ConfiguredDomain,
  descriptors: readonly ExplainedDescriptor[],
  counts?: PodCounts,
): string {
  const explained = descriptors.map((descriptor, index) => {
    const { entries, levels, outcome, taken, replacedBy } = descriptor;
    return {
      entries,
      outcome: replacedBy === undefined ? outcome : "replaced",
      path: taken.map(compositeKey),
      rule: explainedRule(domain, descriptor) ?? null,
      replacedBy,
      counts: counts?.descriptors[index] && countsOf(counts.descriptors[index]),
      levels: levels.map(({ entry, candidates }) => ({
        entry,
        candidates: candidates.map(({ descriptor: rule, verdict }) => ({
          rule: compositeKey(rule),
          place: domain.placeOf(rule),
          verdict,
        })),
      })),
    };
  });
  const { domain: name, place, shadowAt } = domain;
  const shadowMode = shadowAt !== undefined;
  const object = { domain: name, place, shadowMode, countsFrom: counts?.pod, descriptors: explained };
  return `${JSON.stringify(object, undefined, 2)}\n`;
}

function countsOf({ path, limits }: DescriptorCounts): object {
  return {
    path,
    limits: limits.map(({ limit, capacity, hits, remaining, resetSeconds, retrySeconds }) => {
      return { limit, capacity, hits: Number(hits), remaining, resetSeconds, retrySeconds };
    }),
  };
}

/** The limit of a descriptor; undefined when it has none. */
function explainedRule(domain: ConfiguredDomain, { match, taken, counter }: ExplainedDescriptor): object | undefined {
  const leaf: DescriptorModel | undefined = taken.at(-1);
  if (match === undefined || leaf === undefined) return undefined;
  const { path, unlimited, replaces, shadowMode, quotaMode } = match.rule;
  return {
    path,
    place: domain.placeOf(leaf),
    unlimited,
    ...(leaf.rateLimit && limitFields(leaf.rateLimit)),
    limits: leaf.rateLimits?.map((limit, index) => ({
      ...limitFields(limit),
      statistics: match.attachments?.[index],
    })),
    replaces,
    shadowMode,
    quotaMode,
    detailedMetric: leaf.detailedMetric,
    metadata: match.metadata,
    statistics: leaf.rateLimits === undefined ? match.attachment : undefined,
    sharesCounter: match.sharedValues !== undefined,
    counterKey: counter?.key,
    window: counter?.window,
  };
}

/** The fields of a limit as JSON has them; of an unlimited one only its name. */
export function limitFields(limit: RateLimitModel): object {
  const { unlimited, requestsPerUnit, unit, name } = limit;
  return {
    requestsPerUnit: unlimited ? undefined : requestsPerUnit,
    unit: unlimited ? undefined : unit.toLowerCase(),
    name,
    ...windowFieldsOf(limit),
  };
}
