// Reads what the server needs to know of a request's headers.
import type { FieldList } from "../hpack/field-list.ts";
import { nameIdOf } from "../hpack/field-mark.ts";
import { NameId } from "../hpack/field-name.ts";
import { snapshotFields, snapshotRecord } from "./field-snapshot.ts";
import { parseGrpcTimeout } from "./grpc-timeout.ts";

const GRPC = Buffer.from("application/grpc");
const PLUS = 0x2b;
const SEMICOLON = 0x3b;
const ZERO = 0x30;

/** The values of the fields with a meaning of their own: those with a NameId. */
export interface HeadValues {
  readonly method: string;
  /** "" for CONNECT. */
  readonly path: string;
  /**
   * True if the content type is application/grpc, alone or with "+subtype" or ";parameters", as
   * grpc-go reads it.
   */
  readonly isGrpc: boolean;
  /**
   * grpc-timeout in milliseconds, with fractions; undefined without one, NaN for a malformed one,
   * which grpc-js and grpc-go answer with INTERNAL.
   */
  readonly timeoutMs: number | undefined;
  /** grpc-encoding; undefined without one. */
  readonly encoding: string | undefined;
  /** Bytes of DATA that the request announces; undefined if it does not. */
  readonly contentLength: number | undefined;
}

/** Reads a list without requestFault(). Of a repeated header the first counts, as in grpc-js. */
export function readHeadValues(fields: FieldList): HeadValues {
  let method = "";
  let path = "";
  let isGrpc = false;
  let timeoutMs: number | undefined;
  let encoding: string | undefined;
  let contentLength: number | undefined;
  for (let index = fields.count - 1; index >= 0; index--) {
    const id = nameIdOf(fields.marks[index] ?? 0);
    if (id === NameId.other || id === NameId.te) continue;
    const bytes = fields.valueBytes(index);
    const start = fields.valueStart(index);
    const end = fields.valueEnd(index);
    if (id === NameId.path) path = fields.value(index);
    else if (id === NameId.method) method = fields.value(index);
    else if (id === NameId.contentType) isGrpc = isGrpcType(bytes, start, end);
    else if (id === NameId.grpcTimeout) timeoutMs = parseGrpcTimeout(bytes, start, end);
    else if (id === NameId.grpcEncoding) encoding = fields.value(index);
    else if (id === NameId.contentLength) contentLength = numberOf(bytes, start, end);
  }
  return { method, path, isGrpc, timeoutMs, encoding, contentLength };
}

/** The head of a request, which nothing changes: equal blocks of a connection share one. */
export class RequestHead implements HeadValues {
  readonly kind = "head";
  readonly method: string;
  readonly path: string;
  readonly isGrpc: boolean;
  readonly timeoutMs: number | undefined;
  readonly encoding: string | undefined;
  readonly contentLength: number | undefined;
  readonly #fields: FieldList;
  readonly #generation: number;
  #snapshot: Buffer | undefined = undefined;

  /** `values` are those of `fields`. */
  constructor(fields: FieldList, values: HeadValues) {
    this.method = values.method;
    this.path = values.path;
    this.isGrpc = values.isGrpc;
    this.timeoutMs = values.timeoutMs;
    this.encoding = values.encoding;
    this.contentLength = values.contentLength;
    this.#fields = fields;
    this.#generation = fields.generation;
  }

  /**
   * All headers without pseudo-headers, values of a repeated name joined by ", ". Only until the next
   * block of any connection is decoded, unless keep() was called before: throws afterwards.
   */
  headers(): Readonly<Record<string, string>> {
    this.keep();
    return snapshotRecord(this.#snapshot ?? NO_FIELDS);
  }

  /** Bytes that the head keeps: its texts, and the copy of keep(). */
  get keptBytes(): number {
    return this.method.length + this.path.length + (this.encoding?.length ?? 0) + (this.#snapshot?.length ?? 0);
  }

  /**
   * Copies the headers, so that headers() stays valid: for a call whose method is called after
   * another block has been received.
   */
  keep(): void {
    if (this.#snapshot !== undefined) return;
    if (this.#fields.generation !== this.#generation) throw new Error("Cannot read headers: their bytes were reused");
    this.#snapshot = snapshotFields(this.#fields);
  }
}

const NO_FIELDS = Buffer.alloc(0);

function isGrpcType(bytes: Buffer, start: number, end: number): boolean {
  if (end - start < GRPC.length) return false;
  for (let at = 0; at < GRPC.length; at++) if (bytes[start + at] !== GRPC[at]) return false;
  const next = bytes[start + GRPC.length];
  return end - start === GRPC.length || next === PLUS || next === SEMICOLON;
}

function numberOf(bytes: Buffer, start: number, end: number): number {
  let number = 0;
  for (let at = start; at < end; at++) number = number * 10 + (bytes[at] ?? ZERO) - ZERO;
  return number;
}
