// Logs what changes in refusals, NACKs and published snapshots: each change once, when it happens.
import type { Log } from "@weir/common/log/log";

import type { DesiredConfiguration, Refusal } from "../assemble/desired-configuration.ts";
import type { NackedResource, Nacks } from "./nacks.ts";
import { type FleetPublication, OTHER_FLEETS, type Publication, publicationFor } from "./publication.ts";

/** The name of {@link OTHER_FLEETS} in logs and reports. */
const OTHER_FLEETS_NAME = "*";

/** A fleet's name in logs and reports. */
export function fleetName(fleet: string): string {
  return fleet === OTHER_FLEETS ? OTHER_FLEETS_NAME : fleet;
}

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

/** Logs which resources are newly quarantined, and which are no longer. */
export function logNacks(log: Log, before: Nacks, after: Nacks): void {
  const [known, now] = [quarantined(before), quarantined(after)];
  for (const [id, { fleet, resource, serves, message }] of now) {
    if (known.get(id)?.serves === serves) continue;
    const instead = serves === "last-good" ? "its last ACKed form is active" : "it is left out";
    log.error(`Quarantined a resource that pods NACK, ${instead}`, {
      fleet: fleetName(fleet),
      resource,
      text: message,
    });
  }
  for (const [id, { fleet, resource }] of known) {
    if (!now.has(id)) log.info("Ended the quarantine of a resource", { fleet: fleetName(fleet), resource });
  }
}

function quarantined({ resources }: Nacks): ReadonlyMap<string, NackedResource> {
  const excluded = resources.filter(({ serves }) => serves !== "present");
  return new Map(excluded.map((nacked) => [JSON.stringify([nacked.fleet, nacked.resource]), nacked]));
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
      const { version, resources, sizeBytes: bytes } = snapshot;
      log.info("Published snapshot", { version, resources: resources.length, bytes, fleet: fleetName(fleet) });
    }
    if (now.hold !== undefined) logHold(log, fleet, earlier, now.hold);
    else if (earlier?.hold !== undefined && snapshot === earlier.snapshot) {
      const fields = { fleet: fleetName(fleet), version: snapshot?.version };
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

function logHold(
  log: Log,
  fleet: string,
  earlier: FleetPublication | undefined,
  hold: NonNullable<FleetPublication["hold"]>,
): void {
  if (earlier?.hold?.kind === hold.kind) return;
  const fields = { fleet: fleetName(fleet), version: earlier?.snapshot?.version };
  switch (hold.kind) {
    case "empty":
      log.warn("No resource is left, the empty snapshot is published if that lasts", {
        ...fields,
        waitMs: hold.untilMs - hold.sinceMs,
      });
      break;
    case "too-large":
      log.error("The snapshot is too large and not published, the one before stays active", {
        ...fields,
        bytes: hold.sizeBytes,
        resources: hold.resources,
      });
      break;
    case "rejected":
      log.error("Pods NACKed the snapshot and named no resource, the last ACKed one is active again", {
        fleet: fields.fleet,
        rejected: hold.version,
        text: hold.message,
      });
      break;
  }
}

function identityOf({ place, field, message, reason }: Refusal): string {
  return JSON.stringify([place.file, place.line, place.column, field, message, reason]);
}
