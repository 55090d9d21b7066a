// Logs what changes in refusals, what fits and published snapshots: each change once, when it happens.
import type { Log } from "@weir/common/log/log";

import type { DesiredConfiguration, Refusal } from "../translate/desired-configuration.ts";
import type { Admission } from "./admission.ts";
import { type Publication, publicationFor } from "./publication.ts";

/** Logs each new refusal, and the end of all refusals. */
export function logRefusals(log: Log, before: DesiredConfiguration | undefined, after: DesiredConfiguration): void {
  const known = new Set(before?.refusals.map(identityOf));
  for (const refusal of after.refusals) {
    if (known.has(identityOf(refusal))) continue;
    const { place, field, message, reason, resource, keepsLastGood } = refusal;
    log.warn(keepsLastGood ? "Rejected a manifest, its last good resources stay active" : "Rejected a manifest", {
      file: place.file,
      // 0 for objects of a cluster, which have neither.
      line: place.line === 0 ? undefined : place.line,
      column: place.column === 0 ? undefined : place.column,
      field: field === "" ? undefined : field,
      message,
      reason,
      resource,
    });
  }
  if (known.size > 0 && after.refusals.length === 0)
    log.info("All manifests are valid again", { resources: after.accepted.length });
}

/** Logs which resources newly do not fit, and which do at last. */
export function logAdmission(log: Log, before: Admission | undefined, after: Admission): void {
  const known = new Set(before?.waiting.map(({ resource }) => resource.key));
  const waits = new Set(after.waiting.map(({ resource }) => resource.key));
  for (const { resource, message, keepsEarlier } of after.waiting) {
    if (known.has(resource.key)) continue;
    const instead = keepsEarlier ? "its earlier revision stays active" : "it is not served";
    log.error(`A resource is too large, ${instead}`, { resource: resource.key, message });
  }
  for (const key of known) if (!waits.has(key)) log.info("A resource is no longer too large", { resource: key });
}

/**
 * Logs which fleets have another snapshot, which newer content is held back, and which fleets no
 * longer have a snapshot of their own; returns the fleets with another snapshot.
 */
export function logPublication(log: Log, before: Publication, after: Publication): readonly string[] {
  const changed: string[] = [];
  for (const [fleet, now] of after) {
    const earlier = publicationFor(before, fleet);
    const { snapshot } = now;
    // A fleet that is named for the first time has its own line, even with the same content.
    if (snapshot !== undefined && (snapshot.version !== earlier?.snapshot?.version || !before.has(fleet))) {
      changed.push(fleet);
      const { version, revisions, sizeBytes: bytes } = snapshot;
      log.info("Published snapshot", { version, resources: revisions.length, bytes, fleet });
    }
    if (now.hold !== undefined && earlier?.hold === undefined) {
      log.warn("No resource is left, the empty snapshot is published if that lasts", {
        fleet,
        version: earlier?.snapshot?.version,
        waitMs: now.hold.untilMs - now.hold.sinceMs,
      });
    }
    if (now.hold === undefined && earlier?.hold !== undefined && snapshot === earlier.snapshot) {
      const fields = { fleet, version: snapshot?.version };
      log.info("The active snapshot is the wanted one again, nothing is held back", fields);
    }
  }
  for (const fleet of before.keys()) {
    if (after.has(fleet)) continue;
    const version = publicationFor(after, fleet)?.snapshot?.version;
    log.info("No resource names this fleet any more, it gets the snapshot of all other fleets", { fleet, version });
  }
  return changed;
}

function identityOf({ place, field, message, reason }: Refusal): string {
  return JSON.stringify([place.file, place.line, place.column, field, message, reason]);
}
