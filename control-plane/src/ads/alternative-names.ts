// Reads the names in a certificate's subjectAltName from the text in which Node gives them. Pure.
import type { PeerCertificate } from "node:tls";

/**
 * How Node writes the extension: names separated by ", ", each with its kind. A name that contains
 * a comma or a quote is written as a JSON string, so that it cannot pass as two names.
 */
const NAME = /(?:[^,"]|"(?:[^"\\]|\\.)*")+/g;
const NAMES = new RegExp(`^${NAME.source}(?:,${NAME.source})*$`);

export interface AlternativeName {
  /** As Node writes it: `DNS`, `URI`, `IP Address`, `email`, and others. */
  readonly kind: string;
  /** Undefined: it cannot be read, so that nothing can allow it. */
  readonly name: string | undefined;
}

type NamedCertificate = Pick<PeerCertificate, "subjectaltname"> | undefined;

/** Every name with its kind; none if the text is malformed. */
export function readAlternativeNames(certificate: NamedCertificate): readonly AlternativeName[] {
  const text = certificate?.subjectaltname ?? "";
  if (!NAMES.test(text)) return [];
  return [...text.matchAll(NAME)].flatMap(([entry]) => readName(entry.trim()));
}

/** The names that can be read, without their kind. */
export function alternativeNames(certificate: NamedCertificate): readonly string[] {
  return readAlternativeNames(certificate).flatMap(({ name }) => name ?? []);
}

function readName(entry: string): readonly AlternativeName[] {
  const colon = entry.indexOf(":");
  if (colon === -1) return [];
  const kind = entry.slice(0, colon);
  const written = entry.slice(colon + 1);
  if (!written.startsWith('"')) return [{ kind, name: written }];
  try {
    return [{ kind, name: JSON.parse(written) as string }];
  } catch {
    return [{ kind, name: undefined }];
  }
}
