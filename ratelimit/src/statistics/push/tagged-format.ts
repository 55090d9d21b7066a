// Formats statistics as lines for a DogStatsD server: the tags in names, and those of mogrifiers,
// become tags of the protocol.
import type { Log } from "@weir/common/log/log";

import { createTagger, TAG_START } from "../extra-tags.ts";
import type { LineFormat } from "./line-format.ts";
import { type Mogrifier, mogrify } from "./mogrifier.ts";

/**
 * Most names in the cache of formatted names; a full cache is cleared, because names leave with
 * their rules.
 */
const KNOWN_NAMES_MAX = 100_000;

/** Characters that would end a name, a tag or a line. */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE_IN_NAME = /[:|\u0000-\u001f\u007f]/g;
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE_IN_TAG = /[|,\u0000-\u001f\u007f]/g;

/** Settings of tagged statistics. */
export interface TaggedFormatOptions {
  readonly extraTags: ReadonlyMap<string, string>;
  /** Tags `key:value` that come first on every line. */
  readonly globalTags: readonly string[];
  /** The first that matches a name rewrites it. */
  readonly mogrifiers: readonly Mogrifier[];
}

/** Creates the format. */
export function createTaggedFormat(deps: { readonly log: Log }, options: TaggedFormatOptions): LineFormat {
  const tagged = createTagger(options.extraTags);
  const known = new Map<string, WireName>();
  const wireName = (name: string): WireName => {
    if (known.size >= KNOWN_NAMES_MAX) known.clear();
    return known.getOrInsertComputed(name, () => writeName(tagged(name), options, deps.log));
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

/** The text before and after the value of a line. */
interface WireName {
  readonly prefix: string;
  readonly suffix: string;
}

function writeName(name: string, { globalTags, mogrifiers }: TaggedFormatOptions, log: Log): WireName {
  const [plain = "", ...parts] = name.split(TAG_START);
  const own = parts.flatMap((part) => {
    const at = part.indexOf("=");
    if (at !== -1) return [`${part.slice(0, at)}:${part.slice(at + 1)}`];
    log.debug("Left out a tag without a value", { name, part });
    return [];
  });
  const mogrified = mogrify(mogrifiers, plain);
  const tags = [...globalTags, ...own, ...mogrified.tags].map((tag) => tag.replaceAll(UNSAFE_IN_TAG, "_"));
  return {
    prefix: mogrified.name.replaceAll(UNSAFE_IN_NAME, "_"),
    suffix: tags.length === 0 ? "" : `|#${tags.join(",")}`,
  };
}
