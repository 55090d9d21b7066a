// Classes of octets in the names and values of fields (RFC 9113, 8.2.1; RFC 9110, 5.6.2).

/** Set for an octet that no value contains: controls other than tab, and DEL. */
export const ILLEGAL_IN_VALUE = 1;
/** Set for an octet outside of "!" to "~". */
export const NOT_VISIBLE = 2;

const TAB = 0x09;
const SPACE = 0x20;
const TILDE = 0x7e;
const DEL = 0x7f;

/** The classes of each octet as a value contains it: ILLEGAL_IN_VALUE and NOT_VISIBLE. */
export const VALUE_CLASS = Uint8Array.from({ length: 256 }, (_, octet) => {
  const isIllegal = (octet < SPACE && octet !== TAB) || octet === DEL;
  return (isIllegal ? ILLEGAL_IN_VALUE : 0) | (octet <= SPACE || octet > TILDE ? NOT_VISIBLE : 0);
});

/** 1 for each octet that a field name may contain: those of a token in lower case. */
export const IS_NAME_OCTET = new Uint8Array(256);
for (const octet of Buffer.from("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz")) IS_NAME_OCTET[octet] = 1;

/** The classes of all octets from `start` up to `end`, together. */
export function classesOf(bytes: Buffer, start: number, end: number): number {
  let classes = 0;
  for (let at = start; at < end; at++) classes |= VALUE_CLASS[bytes[at] ?? 0] ?? 0;
  return classes;
}

/** Returns true if a value begins or ends with a space or a tab (RFC 9113, 8.2.1). */
export function hasBlankEdge(bytes: Buffer, start: number, end: number): boolean {
  return start < end && (isBlank(bytes[start]) || isBlank(bytes[end - 1]));
}

function isBlank(octet: number | undefined): boolean {
  return octet === SPACE || octet === TAB;
}
