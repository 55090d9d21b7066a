// Numbers for the names that the server treats specially, so that names are compared once: when they
// are received as a literal.
import { IS_NAME_OCTET } from "./octet-class.ts";

/** The number of a field's name. A byte. */
export const NameId = {
  /** A legal name without a meaning here. */
  other: 0,
  /** A name that no field may have: not a token in lower case. */
  illegal: 1,
  /** A pseudo-header that no request has. */
  unknownPseudo: 2,
  method: 3,
  scheme: 4,
  path: 5,
  authority: 6,
  /** A field of the connection, which HTTP/2 does not have (RFC 9113, 8.2.2). */
  connectionSpecific: 7,
  te: 8,
  contentLength: 9,
  contentType: 10,
  host: 11,
  grpcTimeout: 12,
  grpcEncoding: 13,
} as const;

/** One of the numbers. */
export type NameId = (typeof NameId)[keyof typeof NameId];

const SPECIAL: Readonly<Record<string, NameId>> = {
  ":method": NameId.method,
  ":scheme": NameId.scheme,
  ":path": NameId.path,
  ":authority": NameId.authority,
  connection: NameId.connectionSpecific,
  "keep-alive": NameId.connectionSpecific,
  "proxy-connection": NameId.connectionSpecific,
  "transfer-encoding": NameId.connectionSpecific,
  upgrade: NameId.connectionSpecific,
  te: NameId.te,
  "content-length": NameId.contentLength,
  "content-type": NameId.contentType,
  host: NameId.host,
  "grpc-timeout": NameId.grpcTimeout,
  "grpc-encoding": NameId.grpcEncoding,
};

const COLON = 0x3a;

interface Candidate {
  readonly id: NameId;
  readonly bytes: Buffer;
}

/** The special names by their length. */
const BY_LENGTH: readonly (readonly Candidate[])[] = Array.from({ length: 20 }, (_, length) =>
  Object.entries(SPECIAL)
    .filter(([name]) => name.length === length)
    .map(([name, id]) => ({ id, bytes: Buffer.from(name) })),
);

const NONE: readonly Candidate[] = [];

/** Identifies the name that the bytes from `start` up to `end` are. */
export function identifyName(bytes: Buffer, start: number, end: number): NameId {
  const candidates = BY_LENGTH[end - start] ?? NONE;
  for (const candidate of candidates) if (equals(candidate.bytes, bytes, start)) return candidate.id;
  if (bytes[start] === COLON && end > start) return NameId.unknownPseudo;
  let isLegal = end > start;
  for (let at = start; at < end; at++) if (IS_NAME_OCTET[bytes[at] ?? 0] !== 1) isLegal = false;
  return isLegal ? NameId.other : NameId.illegal;
}

function equals(name: Buffer, bytes: Buffer, start: number): boolean {
  for (let at = 0; at < name.length; at++) if (name[at] !== bytes[start + at]) return false;
  return true;
}
