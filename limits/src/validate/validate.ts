// Validates rate limit configurations, for file loader, control plane and command line. The texts and the order of the
// checks are those of envoyproxy/ratelimit: both refuse the same configurations for the same reason.
import type { JsonValue } from "@bufbuild/protobuf";

import type { FieldPath } from "../model/field-path.ts";
import { endsStep, inOneGo } from "../model/in-one-go.ts";
import { compositeKey } from "../model/model.ts";
import type { DescriptorModel, RateLimitConfigModel } from "../model/model.ts";
import { checkLimits } from "./limit-rules.ts";

/**
 * Deepest nesting of metadata. More is a mistake or an attack: protobuf decoders stop at 100 levels
 * of messages.
 */
const METADATA_DEPTH_MAX = 100;

/** A field of one of the configurations that are checked together. */
interface ConfigField {
  /** Position of the configuration in the list. */
  readonly config: number;
  readonly path: FieldPath;
}

/** One broken rule. */
export interface ConfigProblem {
  readonly path: FieldPath;
  /** The text after the `<name>: ` prefix. */
  readonly message: string;
  /** Of a duplicate: the rule or domain that is accepted. */
  readonly first?: ConfigField;
}

/** A problem of one of several configurations. */
export interface ConfigSetProblem extends ConfigProblem, ConfigField {}

/**
 * Every problem of one configuration; the first is the one that envoyproxy/ratelimit would report.
 */
export function findProblems(config: RateLimitConfigModel): readonly ConfigProblem[] {
  return findSetProblems([config], { mergeDomains: false }).map(({ config: _config, ...problem }) => problem);
}

/** How configurations are checked together. */
export interface SetOptions {
  /** Rules of later configurations of a domain join those of the first one; else a domain may appear once. */
  readonly mergeDomains: boolean;
  /**
   * The domains that are checked: all others had no problem before, with the same options; all when
   * absent.
   */
  readonly changed?: ReadonlySet<string>;
}

/**
 * Every problem of configurations that are loaded together, in load order. With `mergeDomains` only
 * top-level rules that collide are refused.
 */
export function findSetProblems(
  configs: readonly RateLimitConfigModel[],
  options: SetOptions,
): readonly ConfigSetProblem[] {
  return inOneGo(setProblemSteps(configs, options));
}

/** The same in steps, between which a server can turn to its calls. */
export function* setProblemSteps(
  configs: readonly RateLimitConfigModel[],
  options: SetOptions,
): Generator<undefined, readonly ConfigSetProblem[]> {
  const domains = new Map<string, { readonly at: ConfigField; readonly keys: Map<string, ConfigField> }>();
  const problems: ConfigSetProblem[] = [];
  for (const [config, { domain, descriptors }] of configs.entries()) {
    if (endsStep(config)) yield;
    if (options.changed?.has(domain) === false) continue;
    const report: Report = (path, message, first) =>
      void problems.push({ config, path, message, ...(first && { first }) });
    if (domain === "") report(["domain"], "config file cannot have empty domain");
    const known = domain === "" ? undefined : domains.get(domain);
    if (known !== undefined && !options.mergeDomains)
      report(["domain"], `duplicate domain '${domain}' in config file`, known.at);
    const keys = known !== undefined && options.mergeDomains ? known.keys : new Map<string, ConfigField>();
    yield* checkDescriptors(descriptors, { config, path: ["descriptors"], fullKey: domain, keys }, report);
    // A refused second claim leaves the first one's keys in place.
    if (known === undefined && domain !== "") domains.set(domain, { at: { config, path: ["domain"] }, keys });
  }
  return problems;
}

/** Takes one problem, and the other place of a duplicate. */
type Report = (path: FieldPath, message: string, first?: ConfigField) => void;

/** A level of the tree. */
interface Level extends ConfigField {
  /** Domain and composite keys from the root to this level, joined by dots. */
  readonly fullKey: string;
  /** Composite keys seen at this level, and the rules that have them. */
  readonly keys: Map<string, ConfigField>;
}

/**
 * Walks the tree in the order in which it is loaded: a rule, then its children, then its next
 * sibling. Readers of files and messages bound the nesting.
 */
function* checkDescriptors(
  descriptors: readonly DescriptorModel[],
  level: Level,
  report: Report,
): Generator<undefined, void> {
  for (const [index, descriptor] of descriptors.entries()) {
    const path = [...level.path, index];
    const fullKey = `${level.fullKey}.${compositeKey(descriptor)}`;
    checkDescriptor(descriptor, { ...level, path, fullKey }, (field, message, first) => {
      report([...path, ...field], message, first);
    });
    yield;
    const { config } = level;
    yield* checkDescriptors(
      descriptor.descriptors,
      { config, path: [...path, "descriptors"], fullKey, keys: new Map() },
      report,
    );
  }
}

function checkDescriptor(descriptor: DescriptorModel, rule: Level, report: Report): void {
  const { config, path, fullKey, keys } = rule;
  const composite = compositeKey(descriptor);
  const first = keys.get(composite);
  if (descriptor.key === "") report(["key"], "descriptor has empty key");
  else if (first !== undefined) report(["key"], `duplicate descriptor composite key '${fullKey}'`, first);
  else keys.set(composite, { config, path });
  checkLimits(descriptor, report);
  if (descriptor.shareThreshold && !composite.includes("*")) {
    const reason = "share_threshold can only be used with wildcard values (containing '*')";
    report(["shareThreshold"], `${reason}, but found key '${composite}'`);
  }
  const reason = reasonNotConvertible(descriptor.metadata ?? null, METADATA_DEPTH_MAX);
  if (reason !== undefined) report(["metadata"], `error parsing metadata: ${reason}`);
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
