// What a plain scalar means to kubectl: its YAML reader follows version 1.1 for booleans ("yes",
// "on", "y") and octal numbers ("017"), but knows neither base 60 nor timestamps. Strings that JSON
// cannot carry are the caller's business.

const NULLS: ReadonlySet<string> = new Set(["", "~", "null", "Null", "NULL"]);
const TRUES: ReadonlySet<string> = new Set(["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"]);
const FALSES: ReadonlySet<string> = new Set([
  "n",
  "N",
  "no",
  "No",
  "NO",
  "false",
  "False",
  "FALSE",
  "off",
  "Off",
  "OFF",
]);
const NOT_FINITE: ReadonlyMap<string, number> = new Map([
  ...[".nan", ".NaN", ".NAN"].map((text) => [text, NaN] as const),
  ...[".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"].map((text) => [text, Infinity] as const),
  ...["-.inf", "-.Inf", "-.INF"].map((text) => [text, -Infinity] as const),
]);

const INTEGER = /^([-+]?)(?:0[xX]([0-9a-fA-F]+)|0[bB]([01]+)|0[oO]?([0-7]+)|(0|[1-9][0-9]*))$/;
const FLOAT = /^[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?$/;

/** What a scalar can mean. */
export type ScalarValue = string | number | boolean | null;

/** The value of a scalar without quotes and without a tag. */
export function resolvePlainScalar(text: string): ScalarValue {
  if (NULLS.has(text)) return null;
  if (TRUES.has(text)) return true;
  if (FALSES.has(text)) return false;
  const special = NOT_FINITE.get(text);
  if (special !== undefined) return special;
  // Numbers begin with a digit, a sign or a dot; only the first two may hold underscores.
  if (/^[-+0-9]/.test(text)) return parseNumber(text.replaceAll("_", "")) ?? text;
  return text.startsWith(".") ? (parseNumber(text) ?? text) : text;
}

function parseNumber(text: string): number | undefined {
  const [, sign, hexadecimal, binary, octal, decimal] = INTEGER.exec(text) ?? [];
  const digits = decimal ?? (hexadecimal && `0x${hexadecimal}`) ?? (binary && `0b${binary}`) ?? (octal && `0o${octal}`);
  // By way of a bigint: it reads every base exactly, so that rounding happens once.
  if (digits !== undefined) return Number(sign === "-" ? -BigInt(digits) : BigInt(digits));
  if (!FLOAT.test(text)) return undefined;
  const number = Number(text);
  // A number too large for 64 bits stays text, as in kubectl.
  return Number.isFinite(number) ? number : undefined;
}
