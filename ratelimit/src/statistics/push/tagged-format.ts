// Lines as a DogStatsD server reads them: the tags that stand in names, and those that mogrifiers
// make, become tags of the wire.
import type { Log } from "@weir/common/log/log";

import { createTagger, TAG_START } from "../extra-tags.ts";
import type { LineFormat } from "./line-format.ts";
import { type Mogrifier, mogrify } from "./mogrifier.ts";

/**
 * Most names whose form on the wire is remembered; beyond it all are forgotten and found again.
 * Names leave when rules do, so there is a limit.
 */
const KNOWN_NAMES_MAX = 100_000;

/** What would end a name, a tag or a line on this wire. */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE_IN_NAME = /[:|\u0000-\u001f\u007f]/g;
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE_IN_TAG = /[|,\u0000-\u001f\u007f]/g;

/** Settings of tagged statistics. */
export interface TaggedFormatOptions {
  /** EXTRA_TAGS. */
  readonly extraTags: ReadonlyMap<string, string>;
  /** Tags `key:value` that stand first on every line. */
  readonly globalTags: readonly string[];
  /** The first that matches a name rewrites it. */
  readonly mogrifiers: readonly Mogrifier[];
}

/** Creates the format. */
export function createTaggedFormat(deps: { readonly log: Log }, options: TaggedFormatOptions): LineFormat {
  const tagged = createTagger(options.extraTags);
  const known = new Map<string, WireName>();
  const wireName = (name: string): WireName => {
    let found = known.get(name);
    if (found !== undefined) return found;
    found = writeName(tagged(name), options, deps.log);
    if (known.size >= KNOWN_NAMES_MAX) known.clear();
    known.set(name, found);
    return found;
  };
  const line = (name: string, value: string, kind: string): string => {
    const { prefix, suffix } = wireName(name);
    return `${prefix}:${value}|${kind}${suffix}\n`;
  };
  return {
    counter: (name, difference) => line(name, String(difference), "c"),
    gauge: (name, value) => line(name, String(value), "g"),
    timer: (name, durationMs) => line(name, durationMs.toFixed(6), "ms"),
    flushed: () => "",
  };
}

/** What stands before and after the value of a line. */
interface WireName {
  readonly prefix: string;
  readonly suffix: string;
}

function writeName(name: string, { globalTags, mogrifiers }: TaggedFormatOptions, log: Log): WireName {
  const [plain = "", ...parts] = splitTags(name);
  const own = parts.flatMap((part) => {
    const at = part.indexOf("=");
    if (at !== -1) return [`${part.slice(0, at)}:${part.slice(at + 1)}`];
    log.debug("a part of a statistic name looks like a tag but has no value, it is left out", { name, part });
    return [];
  });
  const mogrified = mogrify(mogrifiers, plain);
  const tags = [...globalTags, ...own, ...mogrified.tags].map((tag) => tag.replaceAll(UNSAFE_IN_TAG, "_"));
  return {
    prefix: mogrified.name.replaceAll(UNSAFE_IN_NAME, "_"),
    suffix: tags.length === 0 ? "" : `|#${tags.join(",")}`,
  };
}

/** The name and the texts of its tags. */
function splitTags(name: string): readonly string[] {
  return name.split(TAG_START);
}
