// The rules of one domain out of checked files, as a rate limit pod would have them in force. Pure.
import type { DescriptorModel } from "@weir/limits/model/model";

import type { CheckedFiles } from "../check/check-files.ts";
import type { CheckedRules, FileLocation } from "../check/check-text.ts";

/** A rule, where it is written, and the rules below it. */
export interface PlacedRule {
  readonly model: DescriptorModel;
  readonly place: FileLocation;
  readonly children: readonly PlacedRule[];
}

/** A domain with its rules in configured order. */
export interface ConfiguredDomain {
  readonly domain: string;
  readonly place: FileLocation;
  readonly rules: readonly PlacedRule[];
}

/**
 * The rules of a domain, or why there is no telling which they are. An empty name means the only
 * domain that there is.
 */
export function findDomain(
  files: CheckedFiles,
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
  return {
    domain,
    place: first.placeOf(["domain"]),
    rules: found.flatMap((rules) => placedRules(rules.model.descriptors, ["descriptors"], rules)),
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
    : `no file has rules for the domain ${JSON.stringify(wanted.domain)}${where}: ${known}`;
}

function placedRules(
  models: readonly DescriptorModel[],
  path: readonly (string | number)[],
  rules: CheckedRules,
): readonly PlacedRule[] {
  return models.map((model, index) => {
    const at = [...path, index];
    return { model, place: rules.placeOf(at), children: placedRules(model.descriptors, [...at, "descriptors"], rules) };
  });
}
