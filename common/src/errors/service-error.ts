// The base class of all errors that Weir throws, and the table that documents their codes.
import { errorCode } from "./error-code.ts";

/**
 * Longest chain of causes that {@link describeError} follows; deeper ones add length, not insight.
 */
const CAUSES_MAX = 8;

/** The meaning of a code and its remedy, as sentences of docs/errors.md. */
export interface ErrorEntry {
  readonly meaning: string;
  readonly remedy: string;
}

/** Every code of one workspace with its explanation. */
export type ErrorTable = Readonly<Record<string, ErrorEntry>>;

/** The cause of a {@link ServiceError}, and whether a later attempt may succeed. */
export interface ServiceErrorOptions {
  readonly cause?: unknown;
  readonly transient?: boolean;
}

/**
 * An error with a stable code, so that callers decide by code and never by message. The message
 * follows "Cannot <action>: <reason>" and holds no secret; `cause` keeps what is underneath for the
 * log.
 */
export class ServiceError<Code extends string = string> extends Error {
  override readonly name: string = "ServiceError";
  readonly code: Code;
  /** True when the same attempt may succeed later without a change of configuration. */
  readonly transient: boolean;

  constructor(code: Code, message: string, options: ServiceErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.transient = options.transient ?? false;
  }
}

/**
 * The message and the messages of its causes on one line, without stack. A cause that the message
 * already contains is not repeated. Accepts any thrown value.
 */
export function describeError(error: unknown): string {
  let text = messageOf(error);
  let cause = causeOf(error);
  for (let depth = 0; depth < CAUSES_MAX && cause !== undefined; depth++) {
    const next = messageOf(cause);
    if (!text.includes(next)) text += `: ${next}`;
    cause = causeOf(cause);
  }
  return text;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return oneLine(describeValue(error));
  if (error.message !== "") return oneLine(error.message);
  // Node's connection attempts to several addresses fail with an AggregateError that has an empty
  // message.
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.map(messageOf).join("; ");
  return errorCode(error) ?? error.name;
}

function describeValue(value: unknown): string {
  if (typeof value !== "object" || value === null) return String(value);
  try {
    return JSON.stringify(value);
  } catch {
    return Object.prototype.toString.call(value); // Circular: the short form at least says that something other than an error was thrown.
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof Error ? error.cause : undefined;
}

function oneLine(text: string): string {
  return text.trim().replaceAll(/\s*\n\s*/g, "; ");
}
