// The meaning of YAML scalars, as Go's yaml.v2 reads them: YAML 1.1 without base 60.

/** The meaning of a scalar. Integers are exact; those beyond 64 bits are floats. Dates are text. */
export type ScalarMeaning =
  | { readonly type: "null" }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "int"; readonly value: bigint }
  | { readonly type: "float"; readonly value: number }
  | { readonly type: "str"; readonly value: string };

/** Smallest int64 and largest uint64: what yaml.v2 keeps as an integer. */
const INTEGER_MIN = -(2n ** 63n);
const INTEGER_MAX = 2n ** 64n - 1n;

const TAG_PREFIX = "tag:yaml.org,2002:";

const WORDS: ReadonlyMap<string, ScalarMeaning> = new Map<string, ScalarMeaning>([
  ...words({ type: "bool", value: true }, "y Y yes Yes YES true True TRUE on On ON"),
  ...words({ type: "bool", value: false }, "n N no No NO false False FALSE off Off OFF"),
  ...words({ type: "null" }, "~ null Null NULL"),
  ["", { type: "null" }],
  ...words({ type: "float", value: Number.NaN }, ".nan .NaN .NAN"),
  ...words({ type: "float", value: Number.POSITIVE_INFINITY }, ".inf .Inf .INF +.inf +.Inf +.INF"),
  ...words({ type: "float", value: Number.NEGATIVE_INFINITY }, "-.inf -.Inf -.INF"),
]);

/**
 * The meaning of a scalar's text. `isPlain` is false for quoted and block scalars, which are text
 * unless a tag says otherwise. Returns the reason as a string when the tag contradicts the text.
 */
export function resolveScalar(
  text: string,
  options: { readonly isPlain: boolean; readonly tag: string | undefined },
): ScalarMeaning | string {
  const { tag, isPlain } = options;
  if (tag === undefined) return isPlain ? resolvePlain(text) : { type: "str", value: text };
  const type = tag.startsWith(TAG_PREFIX) ? tag.slice(TAG_PREFIX.length) : tag;
  switch (type) {
    case "null":
    case "bool":
    case "int":
    case "float": {
      const meaning = resolvePlain(text);
      if (meaning.type === type) return meaning;
      if (meaning.type === "int" && type === "float") return { type, value: Number(meaning.value) };
      return `cannot decode !!${meaning.type} \`${text}\` as a !!${type}`;
    }
    case "binary":
      return decodeBase64(text);
    default:
      return { type: "str", value: text }; // !!str, !!timestamp and private tags.
  }
}

/** A value as Go prints it with %v: the form in which error texts quote keys and list elements. */
export function formatScalar(meaning: ScalarMeaning): string {
  switch (meaning.type) {
    case "null":
      return "<nil>";
    case "float":
      return formatFloat(meaning.value);
    default:
      return String(meaning.value);
  }
}

function words(meaning: ScalarMeaning, spellings: string): [string, ScalarMeaning][] {
  return spellings.split(" ").map((spelling) => [spelling, meaning]);
}

function resolvePlain(text: string): ScalarMeaning {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  const digits = text.replaceAll("_", "");
  const number = /^[+-]?[0-9]/.test(text) ? (parseInteger(digits) ?? parseFloat64(digits)) : undefined;
  if (number !== undefined) return number;
  return (/^[+-]?\./.test(text) ? parseFloat64(digits) : undefined) ?? { type: "str", value: text };
}

/**
 * A leading 0 means octal, as it does in YAML 1.1 and in Go; 08 is no integer, and becomes a float.
 */
function parseInteger(text: string): ScalarMeaning | undefined {
  const match = /^([+-]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO][0-7]+|0[0-7]*|[1-9][0-9]*)$/.exec(text);
  if (match === null) return undefined;
  const [, sign = "", digits = ""] = match;
  const magnitude = BigInt(/^0[0-7]/.test(digits) ? `0o${digits}` : digits);
  const value = sign === "-" ? -magnitude : magnitude;
  return value < INTEGER_MIN || value > INTEGER_MAX ? undefined : { type: "int", value };
}

function parseFloat64(text: string): ScalarMeaning | undefined {
  if (!/^[+-]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][+-]?[0-9]+)?$/.test(text)) return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? { type: "float", value } : undefined;
}

function decodeBase64(text: string): ScalarMeaning | string {
  const compact = text.replaceAll(/\s/g, "");
  if (!/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(compact))
    return "!!binary value contains invalid base64 data";
  return { type: "str", value: Buffer.from(compact, "base64").toString("utf8") };
}

/** Go's shortest form: an exponent of at least two digits below 0.0001 and from a million on. */
function formatFloat(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  const [mantissa = "", exponentText = "0"] = value.toExponential().split("e");
  const exponent = Number(exponentText);
  if (value === 0 || (exponent >= -4 && exponent < 6)) return String(value);
  return `${mantissa}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}
