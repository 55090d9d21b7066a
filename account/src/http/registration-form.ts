// Reads the multipart form of a registration into memory, within bounds at every step.
// users/inputs.ts checks the values.
import type { IncomingMessage } from "node:http";
import busboy from "busboy";
import { AccountError, fieldError } from "../errors.ts";
import { busyError } from "../users/password-hasher.ts";
import { onLateBody } from "./late-body.ts";
import type { UploadHold } from "./upload-budget.ts";

/** Bytes of a body without the avatar: text fields, part headers, boundaries. */
const BODY_OVERHEAD_BYTES = 64 * 1024;

/** Longest value of a text field in bytes. */
const FIELD_MAX_BYTES = 4096;

/** Text fields that mean something; others are ignored. */
const TEXT_FIELDS = ["email", "password", "name"] as const;

/** The boundary in a Content-Type header, quoted or plain. */
const BOUNDARY = /;\s*boundary=(?:"((?:[^"\\]|\\.)+)"|([^\s;"]+))/i;

/** The content of a form. */
export interface RegistrationForm {
  /** The known text fields that were sent. */
  readonly fields: ReadonlyMap<string, string>;
  readonly avatar: Buffer | undefined;
}

/** The options for reading a form. */
export interface FormOptions {
  readonly avatarMaxBytes: number;
  /**
   * Counts the bytes that the form takes in memory; who reads the form releases it when done with
   * it.
   */
  readonly hold: UploadHold;
}

/** Largest body of a registration in bytes. */
export function formMaxBytes(avatarMaxBytes: number): number {
  return avatarMaxBytes + BODY_OVERHEAD_BYTES;
}

/**
 * Reads the form; rejects with an `AccountError` for every fault of the caller, and with
 * `busy` when others hold too much.
 */
export async function readRegistrationForm(request: IncomingMessage, options: FormOptions): Promise<RegistrationForm> {
  const contentType = request.headers["content-type"] ?? "";
  if (!/^multipart\/form-data\b/i.test(contentType))
    throw new AccountError("unsupported_media_type", "Send the registration as multipart/form-data.");
  const body = await readBody(request, options);
  const parts = await parseParts(contentType, body, options.avatarMaxBytes);
  // busboy silently skips a part without Content-Disposition.
  if (parts.length !== countParts(contentType, body))
    throw malformed("A part of the form has no Content-Disposition: form-data header.", undefined);
  if (parts.some(({ name }) => name === undefined)) throw malformed("A part of the form has no name.", undefined);
  return {
    fields: new Map(TEXT_FIELDS.flatMap((name) => readText(parts, name))),
    avatar: readAvatar(parts, options.avatarMaxBytes),
  };
}

function readBody(request: IncomingMessage, { avatarMaxBytes, hold }: FormOptions): Promise<Buffer> {
  const maxBytes = formMaxBytes(avatarMaxBytes);
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const take = (chunk: Buffer): void => {
      bytes += chunk.length;
      if (bytes > maxBytes) stop(avatarTooLarge(avatarMaxBytes));
      else if (hold.take(chunk.length)) chunks.push(chunk);
      else stop(busyError());
    };
    const end = (): void => stop(undefined);
    const fail = (cause?: Error): void => stop(malformed("The form ends too early.", cause));
    // The stream stays open after an early end: the answer still has to go out.
    const stop = (error: AccountError | undefined): void => {
      stopLate();
      request.off("data", take).off("end", end).off("close", fail);
      const received = chunks.splice(0); // The listener of errors would keep them.
      if (error === undefined) resolve(Buffer.concat(received));
      else reject(error);
    };
    const stopLate = onLateBody(request, stop);
    // An error stays listened to: it comes after "close" too, when the connection breaks later.
    request.on("data", take).on("end", end).on("close", fail).on("error", fail);
    if (Number(request.headers["content-length"] ?? 0) > maxBytes) stop(avatarTooLarge(avatarMaxBytes));
  });
}

/** One part; busboy's own types lack that an empty name arrives as undefined. */
interface Part {
  readonly name: string | undefined;
  readonly text?: string;
  readonly file?: { readonly name: string | undefined; readonly encoding: string; readonly chunks: Buffer[] };
}

function parseParts(contentType: string, body: Buffer, avatarMaxBytes: number): Promise<readonly Part[]> {
  // Sizes have one byte more than allowed, to distinguish a value of exactly the limit from
  // one that was cut.
  const sizes = { fieldNameSize: 100, fieldSize: FIELD_MAX_BYTES + 1, fileSize: avatarMaxBytes + 1 };
  const limits = { ...sizes, fields: 10, files: 4, parts: 12, headerPairs: 20 };
  return new Promise((resolve, reject) => {
    const damaged = (cause: unknown): void =>
      reject(malformed("The form cannot be read: it is damaged, ends too early, or has no usable boundary.", cause));
    let parser: busboy.Busboy;
    try {
      parser = busboy({ headers: { "content-type": contentType }, limits });
    } catch (cause) {
      damaged(cause); // It throws for a Content-Type without a boundary, and for nothing else here.
      return;
    }
    const parts: Part[] = [];
    parser.on("field", (name: string | undefined, text) => parts.push({ name, text }));
    parser.on("file", (name: string | undefined, stream, info: { filename: string | undefined; encoding: string }) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", damaged);
      parts.push({ name, file: { name: info.filename, encoding: info.encoding, chunks } });
    });
    for (const event of ["partsLimit", "filesLimit", "fieldsLimit"] as const)
      parser.on(event, () => reject(tooManyParts()));
    parser.on("error", damaged).on("close", () => resolve(parts));
    parser.end(body);
  });
}

/** Counts the parts by their delimiters (RFC 2046 section 5.1.1). */
function countParts(contentType: string, body: Buffer): number {
  const [, quoted, plain] = BOUNDARY.exec(contentType) ?? [];
  const delimiter = Buffer.from(`\r\n--${quoted?.replaceAll(/\\(.)/g, "$1") ?? plain ?? ""}`, "latin1");
  const bytes = Buffer.concat([Buffer.from("\r\n"), body]); // The first delimiter needs no line end before it.
  let count = 0;
  for (let at = bytes.indexOf(delimiter); at !== -1; at = bytes.indexOf(delimiter, at + delimiter.length)) {
    const after = bytes.toString("latin1", at + delimiter.length, at + delimiter.length + 2);
    if (after === "--") break;
    if (after === "\r\n") count += 1;
  }
  return count;
}

function readText(parts: readonly Part[], name: string): readonly (readonly [string, string])[] {
  const [part, ...more] = parts.filter((each) => each.name === name);
  if (part === undefined) return [];
  if (more.length > 0)
    throw fieldError("duplicate_field", { field: name, message: "The form holds this field more than once." });
  if (part.text === undefined)
    throw fieldError("validation_failed", {
      field: name,
      message: "Send this field as text, not as a file.",
      code: `invalid_${name}`,
    });
  if (Buffer.byteLength(part.text) > FIELD_MAX_BYTES)
    throw fieldError("validation_failed", {
      field: name,
      message: `The field is longer than ${FIELD_MAX_BYTES} bytes.`,
      code: `${name}_too_long`,
    });
  return [[name, part.text]];
}

function readAvatar(parts: readonly Part[], maxBytes: number): Buffer | undefined {
  if (parts.filter(({ file }) => file !== undefined).length > 1) throw tooManyParts();
  const avatars = parts.filter(({ name }) => name === "avatar");
  if (avatars.some(({ file }) => file === undefined))
    throw fieldError("validation_failed", {
      field: "avatar",
      message: "Send the avatar as a file.",
      code: "invalid_avatar",
    });
  const file = avatars[0]?.file;
  if (file === undefined) return undefined;
  if (!["7bit", "8bit", "binary"].includes(file.encoding.toLowerCase()))
    throw malformed("Send the avatar as plain bytes, without a transfer encoding.", undefined);
  const bytes = Buffer.concat(file.chunks);
  if (bytes.length > maxBytes) throw avatarTooLarge(maxBytes);
  // Browsers send a file input in which nothing was chosen as an empty file without a name.
  return bytes.length === 0 && file.name === undefined ? undefined : bytes;
}

function tooManyParts(): AccountError {
  return new AccountError("too_many_parts", "The form has too many parts: at most 10 text fields and one file.");
}

function malformed(message: string, cause: unknown): AccountError {
  return new AccountError("malformed_multipart", message, { cause });
}

/** Also the error for a form that is too large as a whole: its texts are short. */
function avatarTooLarge(maxBytes: number): AccountError {
  const message = `The avatar must have at most ${Number((maxBytes / 2 ** 20).toPrecision(3))} MiB.`;
  return fieldError("avatar_too_large", { field: "avatar", message });
}
