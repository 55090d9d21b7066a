// What a valid rate limit configuration is. File loader, control plane, webhook and command line
// share this one validator. The texts and the order of the checks are those of
// envoyproxy/ratelimit, so that a configuration is refused by both or by none, and for the same
// reason.
import type { JsonValue } from "@bufbuild/protobuf";

import type { FieldPath } from "../model/field-path.ts";
import { compositeKey } from "../model/model.ts";
import type { DescriptorModel, RateLimitConfigModel, RateLimitModel } from "../model/model.ts";
import { parseUnit } from "../model/unit.ts";

/**
 * Deepest nesting of metadata. More is a mistake or an attack: protobuf decoders stop at 100 levels
 * of messages.
 */
const METADATA_DEPTH_MAX = 100;

/** One broken rule. */
export interface ConfigProblem {
  readonly path: FieldPath;
  /** The text after the `<name>: ` prefix. */
  readonly message: string;
}

/** A problem of one of several configurations. */
export interface ConfigSetProblem extends ConfigProblem {
  /** Position of the configuration in the list that was checked. */
  readonly config: number;
}

/**
 * Every problem of one configuration; the first is the one that envoyproxy/ratelimit would report.
 */
export function findProblems(config: RateLimitConfigModel): readonly ConfigProblem[] {
  const problems: ConfigProblem[] = [];
  checkDomain(config, problems);
  checkDescriptors(config, new Set(), problems);
  return problems;
}

/**
 * Every problem of configurations that are loaded together, in load order. A domain may appear
 * once; with `mergeDomains` the rules of later configurations join those of the first one, and only
 * top-level rules that collide are refused.
 */
export function findSetProblems(
  configs: readonly RateLimitConfigModel[],
  options: { readonly mergeDomains: boolean },
): readonly ConfigSetProblem[] {
  const topLevelKeys = new Map<string, Set<string>>();
  return configs.flatMap((config, index) => {
    const problems: ConfigProblem[] = [];
    checkDomain(config, problems);
    const known = config.domain === "" ? undefined : topLevelKeys.get(config.domain);
    if (known !== undefined && !options.mergeDomains) {
      problems.push({ path: ["domain"], message: `duplicate domain '${config.domain}' in config file` });
    }
    const keys = known !== undefined && options.mergeDomains ? known : new Set<string>();
    checkDescriptors(config, keys, problems);
    // A refused second claim leaves the first one's keys in place.
    if (known === undefined && config.domain !== "") topLevelKeys.set(config.domain, keys);
    return problems.map((problem) => ({ config: index, ...problem }));
  });
}

function checkDomain(config: RateLimitConfigModel, problems: ConfigProblem[]): void {
  if (config.domain === "") problems.push({ path: ["domain"], message: "config file cannot have empty domain" });
}

/** A level of the tree whose rules are being checked. */
interface Level {
  readonly descriptors: readonly DescriptorModel[];
  readonly path: FieldPath;
  /** Domain and composite keys from the root to this level, joined by dots. */
  readonly parent: string;
  /** Composite keys seen at this level. */
  readonly keys: Set<string>;
  /** The rule to check next. */
  next: number;
}

/**
 * Walks the tree in the order in which it is loaded: a rule, then its children, then its next
 * sibling. The stack is our own, so that no nesting overflows.
 */
function checkDescriptors(config: RateLimitConfigModel, topLevelKeys: Set<string>, problems: ConfigProblem[]): void {
  const stack: Level[] = [
    { descriptors: config.descriptors, path: ["descriptors"], parent: config.domain, keys: topLevelKeys, next: 0 },
  ];
  for (let level = stack.at(-1); level !== undefined; level = stack.at(-1)) {
    const descriptor = level.descriptors[level.next];
    if (descriptor === undefined) {
      stack.pop();
      continue;
    }
    const path = [...level.path, level.next];
    const fullKey = `${level.parent}.${compositeKey(descriptor)}`;
    level.next += 1;
    checkDescriptor(descriptor, { path, fullKey, keys: level.keys }, problems);
    if (descriptor.descriptors.length > 0) {
      stack.push({
        descriptors: descriptor.descriptors,
        path: [...path, "descriptors"],
        parent: fullKey,
        keys: new Set(),
        next: 0,
      });
    }
  }
}

function checkDescriptor(
  descriptor: DescriptorModel,
  at: { readonly path: FieldPath; readonly fullKey: string; readonly keys: Set<string> },
  problems: ConfigProblem[],
): void {
  const composite = compositeKey(descriptor);
  const report = (path: FieldPath, message: string): void =>
    void problems.push({ path: [...at.path, ...path], message });
  if (descriptor.key === "") {
    report(["key"], "descriptor has empty key");
  } else if (at.keys.has(composite)) {
    report(["key"], `duplicate descriptor composite key '${at.fullKey}'`);
  } else {
    at.keys.add(composite);
  }
  if (descriptor.rateLimit !== undefined) checkLimit(descriptor.rateLimit, report);
  if (descriptor.shareThreshold && !composite.includes("*")) {
    report(
      ["shareThreshold"],
      `share_threshold can only be used with wildcard values (containing '*'), but found key '${composite}'`,
    );
  }
  if (descriptor.metadata !== undefined) {
    const reason = reasonNotConvertible(descriptor.metadata, METADATA_DEPTH_MAX);
    if (reason !== undefined) report(["metadata"], `error parsing metadata: ${reason}`);
  }
}

function checkLimit(limit: RateLimitModel, report: (path: FieldPath, message: string) => void): void {
  const hasUnit = parseUnit(limit.unit) !== undefined;
  if (limit.unlimited && hasUnit) report(["rateLimit", "unit"], "should not specify rate limit unit when unlimited");
  if (!limit.unlimited && !hasUnit) report(["rateLimit", "unit"], `invalid rate limit unit '${limit.unit}'`);
  limit.replaces.forEach((replace, index) => {
    const path = ["rateLimit", "replaces", index, "name"];
    if (replace.name === "") report(path, "should not have an empty replaces entry");
    else if (replace.name === limit.name) report(path, "replaces should not contain name of same descriptor");
  });
}

/**
 * Why a value cannot become a google.protobuf.Struct or Value; undefined when it can. The types
 * forbid most of it, parsers do not.
 */
function reasonNotConvertible(value: JsonValue | undefined, depthLeft: number): string | undefined {
  if (depthLeft === 0) return `nested deeper than ${METADATA_DEPTH_MAX} levels`;
  switch (typeof value) {
    case "string":
      return value.isWellFormed() ? undefined : `invalid UTF-8 in string: ${JSON.stringify(value)}`;
    case "number":
      return Number.isFinite(value) ? undefined : `a number must be finite, current value is ${value}`;
    case "boolean":
      return undefined;
    case "object":
      if (value === null) return undefined;
      for (const [key, inner] of Object.entries(value)) {
        const reason = reasonNotConvertible(key, depthLeft) ?? reasonNotConvertible(inner, depthLeft - 1);
        if (reason !== undefined) return reason;
      }
      return undefined;
    default:
      return `invalid type: ${typeof value}`;
  }
}
