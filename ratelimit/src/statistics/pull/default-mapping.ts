// The built-in mapping: the file statistics-mapping.yaml of this workspace.
import { readFileSync } from "node:fs";

import type { Mapping } from "./mapping.ts";
import { parseMapping } from "./mapping-file.ts";

/** The same path from the sources and from the build. */
const FILE = new URL("../../../statistics-mapping.yaml", import.meta.url);

/**
 * The lines that make response times seconds. Milliseconds have the buckets of envoyproxy/ratelimit,
 * as a mapping without its own has.
 */
const IN_SECONDS = / {4}scale: 0\.001\n( {4}observer_type: histogram\n) {4}histogram_options:\n(?: {6}.*\n)+/;

/**
 * The text of the built-in mapping. With `isMilliseconds` response times keep that unit under the
 * same name, as PROMETHEUS_RESPONSE_TIME_AS_MILLISECONDS asks.
 */
export function defaultMappingText({ isMilliseconds }: { readonly isMilliseconds: boolean }): string {
  const text = readFileSync(FILE, "utf8");
  return isMilliseconds ? text.replace(IN_SECONDS, "$1") : text;
}

/** The built-in mapping. */
export function createDefaultMapping(options: { readonly isMilliseconds: boolean }): Mapping {
  // These patterns mean the same in JavaScript, whose engine is five times as fast as a Go pattern.
  return parseMapping(defaultMappingText(options), "of this program", (source) => ({
    ok: true,
    pattern: new RegExp(source, "u"),
  }));
}
