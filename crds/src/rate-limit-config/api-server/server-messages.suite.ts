// The messages of a real API server for an invalid field, by its path.

/** Path of a rule at a level, counted from 1, each the first of its list. */
export function pathAt(level: number): string {
  return `spec${".descriptors[0]".repeat(level)}`;
}

/** Of a manifest that is not even decoded. */
export function undecoded(reason: string): string {
  return `RateLimitConfig in version "v1alpha1" cannot be handled as a RateLimitConfig: ${reason}`;
}

/** Of a field that the definition does not have. */
export function unknown(path: string): string {
  return undecoded(`strict decoding error: unknown field "${path}"`);
}

/** Of a field that is missing. */
export function required(path: string): string {
  return `${path}: Required value`;
}

/** Of a value that the schema does not allow. */
export function inBody(path: string, value: string, reason: string): string {
  return `${path}: Invalid value: ${value}: ${path} in body ${reason}`;
}

/** Of an empty text. */
export function empty(path: string): string {
  return inBody(path, '""', "should be at least 1 chars long");
}

/** Of a value of another type. */
export function mistyped(path: string, type: string, wanted: string): string {
  return inBody(path, `"${type}"`, `must be of type ${wanted}: "${type}"`);
}

/** Of a text that does not match a pattern. */
export function unmatched(path: string, value: string, pattern: string): string {
  return inBody(path, `"${value}"`, `should match '${pattern}'`);
}

/** Of a text. */
export function tooLong(path: string, max: number): string {
  return `${path}: Too long: may not be more than ${max} bytes`;
}

/** Of a list or a mapping. */
export function tooMany(path: string, count: number, max: number): string {
  return `${path}: Too many: ${count}: must have at most ${max} items`;
}

/** Of a value that a CEL rule of its object does not allow. */
export function ruled(path: string, reason: string): string {
  return `${path}: Invalid value: "object": ${reason}`;
}

/** Of a limit without a unit. */
export function unitless(path: string): string {
  return `${path}.unit: Required value: unit is required, unless unlimited is true`;
}

/** Of a limit without a number of requests. */
export function requestless(path: string): string {
  return `${path}.requestsPerUnit: Required value: requestsPerUnit is required, unless unlimited is true; 0 rejects every request`;
}

/** Of a limit with another unit. */
export function unsupportedUnit(path: string, unit: string): string {
  return `${path}.unit: Unsupported value: "${unit}": supported values: "second", "minute", "hour", "day", "week", "month", "year"`;
}

/** Of a limit that has a unit and none. */
export function unitWhenUnlimited(path: string): string {
  return `${path}.unit: Forbidden: should not specify rate limit unit when unlimited`;
}
