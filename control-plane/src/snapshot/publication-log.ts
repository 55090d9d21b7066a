// What a person at the terminal hears of changes: each once, when it comes, and not again while it
// lasts.
import type { Log } from "@weir/common/log/log";

import type { DesiredConfiguration, Refusal } from "../assemble/desired-configuration.ts";
import { OTHER_FLEETS, publicationFor } from "./publication.ts";
import type { FleetPublication, Publication } from "./publication.ts";
import type { RejectedResource, Rejections } from "./rejections.ts";

/** How {@link OTHER_FLEETS} is called where people read it. */
const OTHER_FLEETS_NAME = "*";

/** A fleet as people read it. */
export function fleetName(fleet: string): string {
  return fleet === OTHER_FLEETS ? OTHER_FLEETS_NAME : fleet;
}

/** Tells what has newly been refused, and when everything is good again. */
export function logRefusals(log: Log, before: DesiredConfiguration | undefined, after: DesiredConfiguration): void {
  const known = new Set(before?.refusals.map(identityOf));
  for (const refusal of after.refusals) {
    if (known.has(identityOf(refusal))) continue;
    const { place, field, message, reason, resource, keepsLastGood } = refusal;
    log.warn(keepsLastGood ? "Refused a manifest, its last good resources stay in force" : "Refused a manifest", {
      file: place.file,
      // Objects of a cluster have none.
      line: place.line === 0 ? undefined : place.line,
      column: place.column === 0 ? undefined : place.column,
      field: field === "" ? undefined : field,
      message,
      reason,
      resource,
    });
  }
  if (known.size > 0 && after.refusals.length === 0)
    log.info("All manifests are good again", { resources: after.accepted.length });
}

/** Tells which resources have newly been quarantined, and which are no longer. */
export function logQuarantine(log: Log, before: Rejections, after: Rejections): void {
  const [known, now] = [quarantined(before), quarantined(after)];
  for (const [id, { fleet, resource, serves, message }] of now) {
    if (known.get(id)?.serves === serves) continue;
    const what = serves === "last-good" ? "its last accepted form is in force" : "it is left out";
    log.error(`Quarantined a resource that pods reject, ${what}`, { fleet: fleetName(fleet), resource, text: message });
  }
  for (const [id, { fleet, resource }] of known) {
    if (!now.has(id)) log.info("A resource is out of quarantine", { fleet: fleetName(fleet), resource });
  }
}

function quarantined({ resources }: Rejections): ReadonlyMap<string, RejectedResource> {
  const inForce = resources.filter(({ serves }) => serves !== "present");
  return new Map(inForce.map((rejected) => [JSON.stringify([rejected.fleet, rejected.resource]), rejected]));
}

/**
 * Tells which fleets have another snapshot, which are kept from one, and which have none of their
 * own any more; returns the first.
 */
export function logPublication(log: Log, before: Publication, after: Publication): readonly string[] {
  const changed: string[] = [];
  for (const [fleet, now] of after) {
    const earlier = publicationFor(before, fleet);
    const { snapshot } = now;
    // A fleet that is named for the first time has a line of its own, even when it is sent the same
    // as before.
    if (snapshot !== undefined && (snapshot.version !== earlier?.snapshot?.version || !before.has(fleet))) {
      changed.push(fleet);
      const fields = {
        version: snapshot.version,
        resources: snapshot.resources.length,
        bytes: snapshot.sizeBytes,
        fleet: fleetName(fleet),
      };
      log.info("Published snapshot", fields);
    }
    if (now.hold !== undefined) logHold(log, fleet, earlier, now.hold);
    else if (earlier?.hold !== undefined && snapshot === earlier.snapshot) {
      log.info("What is in force is wanted again, nothing is held back any more", {
        fleet: fleetName(fleet),
        version: snapshot?.version,
      });
    }
  }
  for (const fleet of before.keys()) {
    if (after.has(fleet)) continue;
    const version = publicationFor(after, fleet)?.snapshot?.version;
    log.info("No resource names this fleet any more, it has the snapshot of all others", { fleet, version });
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
      log.warn("There is no resource, which is published only if it stays so", {
        ...fields,
        waitMs: hold.untilMs - hold.sinceMs,
      });
      break;
    case "too-large":
      log.error("The snapshot is too large and not published, the one before stays in force", {
        ...fields,
        bytes: hold.sizeBytes,
        resources: hold.resources,
      });
      break;
    case "rejected":
      log.error("Pods rejected the snapshot and named no resource, what they accepted last is in force again", {
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
