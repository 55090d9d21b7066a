// Finds secrets that can be guessed: too short, placeholders of examples, keys held down.

/** Fewest bytes of a symmetric key: the output size of SHA-256 (RFC 7518 section 3.2). */
export const SECRET_MIN_BYTES = 32;

/**
 * Words of examples that people forget to replace. The shortest one stands alone, as random text has
 * four letters by chance.
 */
const PLACEHOLDER =
  /change.?(me|it|this)|replace.?(me|this)|placeholder|example|default|your.?.*(secret|key)|insecure|(?<![a-z0-9])todo(?![a-z0-9])/i;

/** Fewest different characters of a secret: fewer come from a key that is held down. */
const DISTINCT_MIN = 8;

/** The requirement that the secret does not meet, never the secret itself; undefined: it meets all. */
export function faultOfSecret(secret: string): string | undefined {
  if (Buffer.byteLength(secret) < SECRET_MIN_BYTES) return `at least ${SECRET_MIN_BYTES} bytes long`;
  if (PLACEHOLDER.test(secret) || new Set(secret).size < DISTINCT_MIN) return "random, not a placeholder";
  return undefined;
}
