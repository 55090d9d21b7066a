// Which client certificates may connect, by the names in them. That a certificate is genuine is
// checked before, by TLS.
import type { PeerCertificate } from "node:tls";

/**
 * How Node writes the extension: names separated by ", ", each with its kind. A name that holds a
 * comma or a quote itself is written as a JSON string, so that nobody can smuggle in a second one.
 */
const NAME = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;
const NAMES = new RegExp(`^${NAME.source}(?:,${NAME.source})*$`);

/**
 * The names of a certificate's subjectAltName extension, without their kind. A text that is not
 * written as above gives none.
 */
export function alternativeNames(certificate: Pick<PeerCertificate, "subjectaltname"> | undefined): readonly string[] {
  const text = certificate?.subjectaltname ?? "";
  if (!NAMES.test(text)) return [];
  return [...text.matchAll(NAME)].flatMap(([entry]) => nameOf(entry.trim()));
}

/**
 * Whether one of the names is allowed; with an empty list of allowed names every certificate is.
 * Host names are equal in any letter case.
 */
export function isAllowed(names: readonly string[], allowed: readonly string[]): boolean {
  if (allowed.length === 0) return true;
  const wanted = new Set(allowed.map(comparable));
  return names.some((name) => wanted.has(comparable(name)));
}

function nameOf(entry: string): readonly string[] {
  const colon = entry.indexOf(":");
  if (colon === -1) return [];
  const written = entry.slice(colon + 1);
  if (!written.startsWith('"')) return [written];
  try {
    return [JSON.parse(written) as string];
  } catch {
    return []; // Not a name that anybody could have allowed.
  }
}

/** Only host names ignore letter case; the path of a URI does not. */
function comparable(name: string): string {
  return name.includes("/") ? name : name.toLowerCase();
}
