// Checks e-mail addresses, and makes the key that is equal for all spellings of one address.
import { domainToASCII } from "node:url";

/** Longest address in characters (RFC 5321 section 4.5.3.1.3, less the angle brackets). */
const ADDRESS_MAX_LENGTH = 254;

/** Longest part before the @ (RFC 5321 section 4.5.3.1.1). */
const LOCAL_MAX_LENGTH = 64;

/** Unquoted local part (RFC 5322 section 3.2.3, dot-atom). */
const DOT_ATOM = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/;

/** A label of a domain in ASCII form (RFC 1123 section 2.1). */
const LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

/** The characters that a domain may be typed with: letters, digits and marks of any script, dots and dashes. */
const TYPED_DOMAIN = /^[\p{L}\p{M}\p{N}.-]+$/u;

/** An accepted address. */
export interface EmailAddress {
  /** As typed, without surrounding blanks. */
  readonly typed: string;
  /** Lower case, domain in ASCII form: equal for two spellings of one address. */
  readonly key: string;
}

/**
 * Reads an address; undefined when it is not one the service takes. Gmail's dots and "+tags" are
 * part of an address.
 */
export function parseEmail(text: string): EmailAddress | undefined {
  if (/\p{C}/u.test(text)) return undefined; // Controls and invisible characters, before anything could strip them.
  const typed = text.trim();
  const at = typed.lastIndexOf("@");
  const local = typed.slice(0, Math.max(at, 0));
  // ASCII is checked before anything is folded: normalisation and lower-casing turn the Kelvin sign
  // into an ordinary k.
  if (typed.length > ADDRESS_MAX_LENGTH || local.length > LOCAL_MAX_LENGTH || !DOT_ATOM.test(local)) return undefined;
  const domain = parseDomain(typed.slice(at + 1).normalize("NFC"));
  if (domain === undefined) return undefined;
  const key = `${local.toLowerCase()}@${domain}`;
  return key.length > ADDRESS_MAX_LENGTH ? undefined : { typed, key };
}

/**
 * The domain in ASCII form, or undefined when it is no domain name: an address literal, a single
 * label, an IP address.
 */
function parseDomain(typed: string): string | undefined {
  if (!TYPED_DOMAIN.test(typed)) return undefined;
  const labels = domainToASCII(typed).toLowerCase().split(".");
  const isTopNumeric = /^\d+$/.test(labels.at(-1) ?? "");
  return labels.length >= 2 && !isTopNumeric && labels.every((label) => LABEL.test(label))
    ? labels.join(".")
    : undefined;
}
