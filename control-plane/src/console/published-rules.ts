// The rules that the pods of a fleet are sent: their limits, and which of them limits a request. Pure.
import { create } from "@bufbuild/protobuf";
import { specText } from "@weir/crds/rate-limit-config/manifest/spec-text";
import { modelOfResource } from "@weir/crds/rate-limit-config/translate/translate";
import { type ExplainedLevel, explainRequest, type Verdict } from "@weir/limits/explain/explain";
import { limitText } from "@weir/limits/explain/limit-text";
import { compositeKey, type DescriptorModel, limitsOf } from "@weir/limits/model/model";
import {
  type ExplainRequestRequest,
  type ExplainRequestResponse,
  ExplainRequestResponseSchema,
  type GetRulesRequest,
  type GetRulesResponse,
  GetRulesResponseSchema,
} from "@weir/proto/generated/weir/console/v1/console_pb";

import { limitsIn, revisionOfDomain } from "../observe/known-rules.ts";
import type { Publisher } from "../snapshot/publisher.ts";
import type { Revision } from "../snapshot/revision.ts";
import type { PlacedLimit } from "../translate/limits-of-resource.ts";
import { lineDifference } from "./line-difference.ts";

/** Most candidates of a level in an answer. */
const CANDIDATES_MAX = 100;

/** The published snapshots and revisions. */
export type PublishedRules = Pick<Publisher, "snapshotFor" | "revisionsOf">;

/** The limits of rules; rules that the fleet does not have are left out. */
export function getRules(
  published: PublishedRules,
  { fleet, rules, withDifference }: GetRulesRequest,
): GetRulesResponse {
  const found = rules.flatMap(({ domain, path }) => {
    const revision = revisionOf(published, fleet, domain);
    const limit = revision && limitsIn(revision).get(path);
    if (revision === undefined || limit === undefined) return [];
    const { namespace, name: key } = revision;
    const earlier = published.revisionsOf(key).find(({ digest }) => digest !== revision.digest);
    const text = limitText(limit.limit);
    const earlierText = earlier === undefined ? text : textOf(limitsIn(earlier).get(path));
    return {
      ...{ rule: { domain, path }, namespace, name: key.slice(namespace.length + 1) },
      ...{ field: limit.field, limit: text, shadowMode: limit.shadowMode },
      earlierLimit: earlierText === text ? "" : earlierText,
      difference: withDifference && earlier !== undefined ? differenceOf(earlier, revision) : "",
    };
  });
  return create(GetRulesResponseSchema, { rules: found });
}

/** Which rule limits a request, and why not the others: of each level those that have most to do with the entry. */
export function explain(
  published: PublishedRules,
  { fleet, domain, descriptors }: ExplainRequestRequest,
  nowMs: number,
): ExplainRequestResponse {
  const revision = revisionOf(published, fleet, domain);
  if (revision === undefined) return create(ExplainRequestResponseSchema);
  const request = { descriptors: descriptors.map(({ entries }) => entries), atMs: nowMs, keyPrefix: "" };
  const explained = explainRequest(domain, descriptorsOf(revision), request);
  return create(ExplainRequestResponseSchema, {
    resource: revision.name,
    descriptors: explained.map(({ outcome, replacedBy, match, taken, counter, levels }) => {
      const rule = match === undefined ? undefined : taken.at(-1);
      return {
        outcome: replacedBy === undefined ? outcome : "replaced",
        ...(match && { path: match.rule.path, shadowMode: match.rule.shadowMode }),
        ...(rule && { limits: limitsOf(rule).map(limitText) }),
        ...(counter && { counterKey: counter.key }),
        levels: levels.map(({ entry, candidates }) => ({
          entry: { key: entry.key, value: entry.value },
          candidates: nearest(candidates).map(({ descriptor, verdict }) => ({
            rule: compositeKey(descriptor),
            verdict,
          })),
        })),
      };
    }),
  });
}

/** Those that match before those of the same key, and these before others; in configured order. */
function nearest(candidates: ExplainedLevel["candidates"]): ExplainedLevel["candidates"] {
  if (candidates.length <= CANDIDATES_MAX) return candidates;
  const kept = new Set(candidates.toSorted((one, other) => distance(one) - distance(other)).slice(0, CANDIDATES_MAX));
  return candidates.filter((each) => kept.has(each));
}

function distance({ verdict }: { readonly verdict: Verdict }): number {
  if (verdict === "key-differs") return 2;
  return verdict === "value-differs" || verdict === "pattern-differs" ? 1 : 0;
}

function revisionOf(published: PublishedRules, fleet: string, domain: string): Revision | undefined {
  const snapshot = published.snapshotFor(fleet);
  return snapshot && revisionOfDomain(snapshot, domain);
}

/** Of revisions that were asked for: pages ask again and again. */
const differences = new WeakMap<Revision, { readonly earlier: Revision; readonly text: string }>();

function differenceOf(earlier: Revision, revision: Revision): string {
  const known = differences.get(revision);
  if (known?.earlier === earlier) return known.text;
  const text = lineDifference(specText(earlier.manifest), specText(revision.manifest));
  differences.set(revision, { earlier, text });
  return text;
}

function textOf(placed: PlacedLimit | undefined): string {
  return placed === undefined ? "none" : limitText(placed.limit);
}

function descriptorsOf({ manifest }: Revision): readonly DescriptorModel[] {
  return modelOfResource(manifest).descriptors;
}
