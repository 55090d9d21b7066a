// Regular expressions in Go's syntax, for settings and files that envoyproxy/ratelimit and
// statsd_exporter read with Go. Matching takes linear time, whatever the pattern.
import { createRequire } from "node:module";

const require = createRequire(import.meta.url);

/** Most characters of a pattern. */
const PATTERN_MAX_LENGTH = 4096;

/** A pattern that is searched for anywhere in a text. */
export interface Pattern {
  /** The first match, as RegExp.exec() returns it. */
  exec(text: string): RegExpMatchArray | null;
}

/** A compiled pattern, or the reason why it is invalid. */
export type CompiledPattern =
  { readonly ok: true; readonly pattern: Pattern } | { readonly ok: false; readonly reason: string };

/** Compiles a pattern in Go's syntax; the reason of an invalid one is Go's error message. */
export function compileGoPattern(source: string): CompiledPattern {
  if (source.length > PATTERN_MAX_LENGTH)
    return { ok: false, reason: `it is longer than ${PATTERN_MAX_LENGTH} characters` };
  // Loaded with the first pattern: it takes 10 ms, and most deployments have no pattern.
  const { RE2JS, RE2JSException } = require("re2js") as typeof import("re2js");
  try {
    return { ok: true, pattern: RE2JS.compile(source) as Pattern };
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    return { ok: false, reason: error.message };
  }
}
