// The rules of HTTP/2 for the header lists that a server receives (RFC 9113, 8.1 to 8.3 and 8.5).
import type { FieldList } from "../hpack/field-list.ts";
import { nameIdOf, valueClassesOf } from "../hpack/field-mark.ts";
import { NameId } from "../hpack/field-name.ts";
import { ILLEGAL_IN_VALUE, IS_NAME_OCTET, NOT_VISIBLE } from "../hpack/octet-class.ts";

/** Most digits of content-length: the largest number of them is exact in a double. */
const CONTENT_LENGTH_DIGITS_MAX = 15;

const TRAILERS = Buffer.from("trailers");
const CONNECT = Buffer.from("CONNECT");
const OPTIONS = Buffer.from("OPTIONS");

const SLASH = 0x2f;
const ASTERISK = 0x2a;
const AT_SIGN = 0x40;
const ZERO = 0x30;
const SCHEME_SIGNS = Buffer.from("+-.");

/** Names that a request has at most once. */
const ONCE =
  bitOf(NameId.method) |
  bitOf(NameId.scheme) |
  bitOf(NameId.path) |
  bitOf(NameId.authority) |
  bitOf(NameId.contentLength) |
  bitOf(NameId.host);
const MANDATORY = bitOf(NameId.method) | bitOf(NameId.scheme) | bitOf(NameId.path);
const BOTH_HOSTS = bitOf(NameId.authority) | bitOf(NameId.host);
const PSEUDO = MANDATORY | bitOf(NameId.authority) | bitOf(NameId.unknownPseudo);

/** The text for what is wrong with a request's header list; undefined when it is sound. */
export function requestFault(fields: FieldList): string | undefined {
  let seen = 0;
  let isRegular = false;
  const { count, marks } = fields;
  for (let index = 0; index < count; index++) {
    const mark = marks[index] ?? 0;
    if ((valueClassesOf(mark) & ILLEGAL_IN_VALUE) !== 0) return "an illegal octet in a value";
    const id = nameIdOf(mark);
    // Most fields have names without a meaning.
    if (id === NameId.other) {
      isRegular = true;
      continue;
    }
    const bit = bitOf(id);
    if ((bit & PSEUDO) === 0) isRegular = true;
    else if (isRegular) return "a pseudo-header after a header";
    if ((seen & bit & ONCE) !== 0) return "a field that is repeated";
    seen |= bit;
    const fault = fieldFault(fields, index, id);
    if (fault !== undefined) return fault;
  }
  if ((seen & MANDATORY) !== MANDATORY) return withoutMandatory(fields, seen);
  if (hasMethod(fields, CONNECT)) return "CONNECT with :scheme or :path";
  return (seen & BOTH_HOSTS) === BOTH_HOSTS ? hostFault(fields) : undefined;
}

/** The text for what is wrong with trailers; undefined when they are sound. */
export function trailersFault(fields: FieldList): string | undefined {
  for (let index = 0; index < fields.count; index++) {
    const id = fields.nameId(index);
    if ((bitOf(id) & PSEUDO) !== 0) return "a pseudo-header in trailers";
    if ((valueClassesOf(fields.marks[index] ?? 0) & ILLEGAL_IN_VALUE) !== 0) return "an illegal octet in a value";
    const fault = fieldFault(fields, index, id);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function bitOf(id: number): number {
  return 1 << id;
}

/** Returns the fault of one field whose value has only legal octets. */
function fieldFault(fields: FieldList, index: number, id: number): string | undefined {
  switch (id) {
    case NameId.illegal:
      return "an illegal name";
    case NameId.unknownPseudo:
      return "an unknown pseudo-header";
    case NameId.connectionSpecific:
      return "a field of the connection";
    case NameId.te:
      return valueIs(fields, index, TRAILERS) ? undefined : 'te other than "trailers"';
    case NameId.contentLength:
      return isContentLength(fields, index) ? undefined : "an invalid content-length";
    case NameId.method:
      return isToken(fields, index) ? undefined : "an invalid :method";
    case NameId.scheme:
      return isScheme(fields, index) ? undefined : "an invalid :scheme";
    case NameId.path:
      return isPath(fields, index) ? undefined : "an invalid :path";
    case NameId.authority:
      return isAuthority(fields, index) ? undefined : "an invalid :authority";
    default:
      return undefined;
  }
}

/** CONNECT has :method and :authority alone (RFC 9113, 8.5); every other request needs all three. */
function withoutMandatory(fields: FieldList, seen: number): string | undefined {
  const isConnect = (seen & (MANDATORY | bitOf(NameId.authority))) === (bitOf(NameId.method) | bitOf(NameId.authority));
  return isConnect && hasMethod(fields, CONNECT) ? undefined : "a missing pseudo-header";
}

function isToken(fields: FieldList, index: number): boolean {
  const bytes = fields.valueBytes(index);
  const end = fields.valueEnd(index);
  const start = fields.valueStart(index);
  for (let at = start; at < end; at++) {
    const octet = bytes[at] ?? 0;
    if (IS_NAME_OCTET[isUpperCase(octet) ? octet | 0x20 : octet] !== 1) return false;
  }
  return start < end;
}

/** RFC 3986, 3.1: a letter, then letters, digits, "+", "-" and ".". */
function isScheme(fields: FieldList, index: number): boolean {
  const bytes = fields.valueBytes(index);
  const end = fields.valueEnd(index);
  const start = fields.valueStart(index);
  if (start === end || !isLetter(bytes[start] ?? 0)) return false;
  for (let at = start + 1; at < end; at++) {
    const octet = bytes[at] ?? 0;
    if (!isLetter(octet) && !isDigit(octet) && !SCHEME_SIGNS.includes(octet)) return false;
  }
  return true;
}

/** An absolute path with its query; "*" only for OPTIONS (RFC 9113, 8.3.1). */
function isPath(fields: FieldList, index: number): boolean {
  if ((valueClassesOf(fields.marks[index] ?? 0) & NOT_VISIBLE) !== 0) return false;
  const start = fields.valueStart(index);
  const length = fields.valueEnd(index) - start;
  const first = length > 0 ? fields.valueBytes(index)[start] : undefined;
  return first === SLASH || (first === ASTERISK && length === 1 && hasMethod(fields, OPTIONS));
}

/** Host and port, without the user that URIs may have in front of them (RFC 9113, 8.3.1). */
function isAuthority(fields: FieldList, index: number): boolean {
  if ((valueClassesOf(fields.marks[index] ?? 0) & NOT_VISIBLE) !== 0) return false;
  const bytes = fields.valueBytes(index);
  const end = fields.valueEnd(index);
  for (let at = fields.valueStart(index); at < end; at++) if (bytes[at] === AT_SIGN) return false;
  return true;
}

function isContentLength(fields: FieldList, index: number): boolean {
  const bytes = fields.valueBytes(index);
  const end = fields.valueEnd(index);
  const start = fields.valueStart(index);
  for (let at = start; at < end; at++) if (!isDigit(bytes[at] ?? 0)) return false;
  return start < end && end - start <= CONTENT_LENGTH_DIGITS_MAX;
}

/** A request is malformed if host names another host than :authority (RFC 9113, 8.3.1). */
function hostFault(fields: FieldList): string | undefined {
  const authority = fields.value(fields.indexOf(NameId.authority));
  const host = fields.value(fields.indexOf(NameId.host));
  return authority.toLowerCase() === host.toLowerCase() ? undefined : "host other than :authority";
}

function hasMethod(fields: FieldList, method: Buffer): boolean {
  const index = fields.indexOf(NameId.method);
  return index >= 0 && valueIs(fields, index, method);
}

function valueIs(fields: FieldList, index: number, expected: Buffer): boolean {
  const start = fields.valueStart(index);
  if (fields.valueEnd(index) - start !== expected.length) return false;
  const bytes = fields.valueBytes(index);
  for (let at = 0; at < expected.length; at++) if (bytes[start + at] !== expected[at]) return false;
  return true;
}

function isUpperCase(octet: number): boolean {
  return octet >= 0x41 && octet <= 0x5a;
}

function isLetter(octet: number): boolean {
  return isUpperCase(octet & ~0x20);
}

function isDigit(octet: number): boolean {
  return octet >= ZERO && octet <= ZERO + 9;
}
