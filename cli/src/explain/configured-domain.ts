// The rules of one domain out of checked files or resources, as a rate limit pod would have them. Pure.
import type { DescriptorModel } from "@weir/limits/model/model";

import type { CheckedFiles } from "../check/check-files.ts";
import type { CheckedRules, FileLocation } from "../check/check-text.ts";

/** A domain with its rules in configured order. */
export interface ConfiguredDomain {
  readonly domain: string;
  readonly place: FileLocation;
  /** The location at which a resource puts all its rules into shadow mode. */
  readonly shadowAt: FileLocation | undefined;
  readonly rules: readonly DescriptorModel[];
  readonly placeOf: (rule: DescriptorModel) => FileLocation;
}

/**
 * The rules of a domain, or a text that says why they are not known. An empty name means the only
 * domain.
 */
export function findDomain(
  files: Pick<CheckedFiles, "resources" | "rules">,
  wanted: { readonly domain: string; readonly fleet: string | undefined },
): ConfiguredDomain | string {
  const resources = files.resources.filter(
    ({ fleets }) => wanted.fleet === undefined || fleets === undefined || fleets.includes(wanted.fleet),
  );
  const all = [...resources.map(({ rules }) => rules), ...files.rules];
  const domains = [...new Set(all.map(({ model }) => model.domain))].toSorted();
  const domain = wanted.domain === "" && domains.length === 1 ? (domains[0] ?? "") : wanted.domain;
  const found = all.filter(({ model }) => model.domain === domain);
  const [first] = found;
  if (first === undefined) return unknownDomain(wanted, domains);
  const claims = resources.filter((resource) => resource.domain === domain);
  if (claims.length > 1) {
    const names = claims.map(
      ({ namespace, name, fleets }) => `${namespace}/${name} (${fleets?.join(", ") ?? "every fleet"})`,
    );
    return `the domain ${JSON.stringify(domain)} has other rules in other fleets, choose one with --fleet: ${names.join("; ")}`;
  }
  const [claim] = claims;
  if (claim !== undefined && found.length > 1) {
    return `the domain ${JSON.stringify(domain)} is both in a manifest and in a rule file: name only those files that a pod would have`;
  }
  if (claim?.isInvalid === true) {
    return `cannot explain the domain ${JSON.stringify(domain)}: its owner ${claim.namespace}/${claim.name} is invalid, and pods enforce its last good revision, which the cluster does not show`;
  }
  const places = new Map<DescriptorModel, () => FileLocation>();
  for (const rules of found) collectPlaces(rules.model.descriptors, ["descriptors"], rules, places);
  return {
    domain,
    place: first.placeOf(["domain"]),
    shadowAt: claim?.shadowAt,
    rules: found.flatMap((rules) => rules.model.descriptors),
    placeOf: (rule) => places.get(rule)?.() ?? first.placeOf([]),
  };
}

function unknownDomain(
  wanted: { readonly domain: string; readonly fleet: string | undefined },
  domains: readonly string[],
): string {
  const known =
    domains.length === 0
      ? "there is none"
      : `there ${domains.length === 1 ? "is" : "are"} ${domains.map((name) => JSON.stringify(name)).join(", ")}`;
  const where = wanted.fleet === undefined ? "" : ` in the fleet ${JSON.stringify(wanted.fleet)}`;
  return wanted.domain === ""
    ? `no domain given: name one with --domain, ${known}${where}`
    : `no rules for the domain ${JSON.stringify(wanted.domain)}${where}: ${known}`;
}

function collectPlaces(
  descriptors: readonly DescriptorModel[],
  path: readonly (string | number)[],
  rules: CheckedRules,
  places: Map<DescriptorModel, () => FileLocation>,
): void {
  descriptors.forEach((descriptor, index) => {
    const at = [...path, index];
    places.set(descriptor, () => rules.placeOf(at));
    collectPlaces(descriptor.descriptors, [...at, "descriptors"], rules, places);
  });
}
