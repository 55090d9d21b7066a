// Reads errors of the driver by their classes and codes alone: their texts can have addresses of
// users, names of servers and parts of the URI, which belong into no log.
import { mongo } from "mongoose";
import type { StoreReason } from "../store-error.ts";

/** Deepest cause in which a code is looked for. */
const CAUSES_MAX = 6;

/** The codes of servers that say more than "refused" (https://www.mongodb.com/docs/manual/reference/error-codes/). */
const SERVER_CODES: Readonly<Record<number, Pick<MongoFailure, "reason" | "text">>> = {
  ...codes([13, 18, 8000], "credentials", "the server refuses the credentials, or they lack a right"),
  ...codes([91, 189, 10107, 11600, 11602, 13435, 13436], "no_answer", "no server is primary"),
  ...codes([50, 64, 262], "no_answer", "the server does not answer in time"),
  ...codes([85, 86], "rejected", "another index on emailKey has other options; drop it"),
  ...codes([11_000], "rejected", "a value that must be unique exists twice"),
};

/**
 * The result of an operation whose call failed: the server answered that a value is not unique; there is
 * no usable answer; or nothing was sent. No error of the driver reports the last: when the answer to its
 * first attempt is lost, it throws the error of the second, which may not reach any server.
 */
export interface MongoFailure {
  readonly kind: "duplicate" | "lost" | "not_sent";
  readonly reason: StoreReason;
  /** For operators; without any text of a server. */
  readonly text: string;
}

/** Classifies an error of the driver. */
export function classifyError(error: unknown): MongoFailure {
  if (error instanceof mongo.MongoServerError) return classifyAnswer(Number(error.code));
  if (error instanceof mongo.MongoParseError || error instanceof mongo.MongoInvalidArgumentError)
    return { kind: "lost", reason: "rejected", text: "MONGODB_URI, or the DNS record that it names, is not valid" };
  const code = systemCode(error);
  return { kind: "lost", reason: "no_answer", text: `no server answers${code === undefined ? "" : ` (${code})`}` };
}

function classifyAnswer(code: number): MongoFailure {
  const known = SERVER_CODES[code] ?? { reason: "rejected", text: `the server refuses the operation (code ${code})` };
  return { kind: code === 11_000 ? "duplicate" : "lost", ...known };
}

function codes(
  of: readonly number[],
  reason: StoreReason,
  text: string,
): Readonly<Record<number, Pick<MongoFailure, "reason" | "text">>> {
  return Object.fromEntries(of.map((code) => [code, { reason, text }]));
}

/** The code of the system or of TLS under an error, such as ECONNREFUSED. */
function systemCode(error: unknown, depth = 0): string | undefined {
  if (depth > CAUSES_MAX || typeof error !== "object" || error === null) return undefined;
  const { code, cause, reason } = error as Readonly<Record<string, unknown>>;
  if (typeof code === "string" && /^[A-Z][A-Z0-9_]+$/.test(code)) return code;
  // Of the selection of a server: what each of them answered.
  const servers =
    reason instanceof Object && "servers" in reason && reason.servers instanceof Map ? reason.servers : [];
  const inner = [...servers.values()].map((server: { readonly error?: unknown }) => server.error);
  return [cause, ...inner].map((each) => systemCode(each, depth + 1)).find((found) => found !== undefined);
}
