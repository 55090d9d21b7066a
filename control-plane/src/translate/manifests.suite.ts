// Manifests for tests, the state of a source that reads them, and its translation.
import { inOneGo } from "@weir/limits/model/in-one-go";

import { readContent } from "../source/directory/read-manifest-file.ts";
import type { SourceState } from "../source/source.ts";
import type { DesiredConfiguration } from "./desired-configuration.ts";
import { type TranslatedState, translationSteps } from "./translate-resources.ts";

/** The fields in which manifests of tests differ. */
export interface ManifestText {
  readonly name: string;
  readonly domain: string;
  readonly namespace?: string;
  readonly created?: string;
  readonly fleets?: readonly string[];
  readonly requestsPerUnit?: number;
  readonly unit?: string;
  /** Number of further rules, of a little more than a thousand bytes each. */
  readonly largeRules?: number;
}

/** One manifest with one rule. */
export function manifest({
  name,
  domain,
  namespace,
  created,
  fleets,
  requestsPerUnit = 5,
  unit = "minute",
  largeRules = 0,
}: ManifestText): string {
  return [
    "apiVersion: ratelimit.weir.dev/v1alpha1",
    "kind: RateLimitConfig",
    "metadata:",
    `  name: ${name}`,
    ...(namespace === undefined ? [] : [`  namespace: ${namespace}`]),
    ...(created === undefined ? [] : [`  creationTimestamp: ${created}`]),
    "spec:",
    `  domain: ${domain}`,
    ...(fleets === undefined ? [] : [`  fleets: [${fleets.join(", ")}]`]),
    "  descriptors:",
    "    - key: user",
    "      rateLimit:",
    `        unit: ${unit}`,
    `        requestsPerUnit: ${requestsPerUnit}`,
    ...Array.from(
      { length: largeRules },
      (_, index) => `    - { key: user, value: "${String(index).padEnd(1000, "x")}" }`,
    ),
    "",
  ].join("\n");
}

/** The state of a source with these files, by path. */
export function stateOf(files: Readonly<Record<string, string>>): SourceState {
  const contents = Object.entries(files).map(([path, text]) => readContent(path, text));
  return {
    resources: contents.flatMap(({ resources }) => resources),
    refusals: contents.flatMap(({ problems }) => problems.map((problem) => ({ ...problem, keepsLastGood: false }))),
  };
}

/** The state of a source with these manifests, each in a file of its own name. */
export function stateOfManifests(...manifests: readonly ManifestText[]): SourceState {
  return stateOf(Object.fromEntries(manifests.map((text, index) => [`${index}-${text.name}.yaml`, manifest(text)])));
}

/** Translates the state of a source in one go. */
export function translateResources(state: SourceState, before?: TranslatedState): DesiredConfiguration {
  return inOneGo(translationSteps(state, before));
}
