// The rules that a pod can have: those of the response that it ACKed last.
import type { RuleName } from "@weir/proto/generated/weir/observe/v1/observe_pb";

import type { SentRevisions } from "../pods/pod-revisions.ts";
import type { Revision } from "../snapshot/revision.ts";
import { limitsOfResource, type PlacedLimit } from "../translate/limits-of-resource.ts";

/** Limits by revision: most pods have the same ones. */
const limits = new WeakMap<Revision, ReadonlyMap<string, PlacedLimit>>();

/** Revisions by domain: found once for each response. */
const domains = new WeakMap<SentRevisions["snapshot"], ReadonlyMap<string, Revision>>();

/** The limits of a revision by their paths. */
export function limitsIn(revision: Revision): ReadonlyMap<string, PlacedLimit> {
  return limits.getOrInsertComputed(revision, ({ manifest }) => limitsOfResource(manifest));
}

/** The revision in a snapshot that has the rules of a domain. */
export function revisionOfDomain(snapshot: SentRevisions["snapshot"], domain: string): Revision | undefined {
  const byDomain = domains.getOrInsertComputed(
    snapshot,
    ({ revisions }) => new Map(revisions.map((revision) => [revision.domain, revision])),
  );
  return byDomain.get(domain);
}

/** Returns true if the response has a limit of this name. */
export function hasRule(sent: SentRevisions | undefined, { domain, path }: Pick<RuleName, "domain" | "path">): boolean {
  const revision = sentRevision(sent, domain);
  return revision !== undefined && limitsIn(revision).has(path);
}

/** Returns true if the response has rules for the domain. */
export function hasDomain(sent: SentRevisions | undefined, domain: string): boolean {
  return sentRevision(sent, domain) !== undefined;
}

function sentRevision(sent: SentRevisions | undefined, domain: string): Revision | undefined {
  const revision = sent && revisionOfDomain(sent.snapshot, domain);
  return revision !== undefined && sent?.names?.has(revision.name) !== false ? revision : undefined;
}
