// Reads the multipart form of a registration, or of an avatar alone, into memory, within bounds at every step.
// users/inputs.ts checks the values.
import type { IncomingMessage } from "node:http";
import busboy from "busboy";
import { AccountError, fieldError } from "../errors.ts";
import { busyError } from "../passwords/password-hasher.ts";
import { onLateBody } from "./late-body.ts";
import { UploadBudget, type UploadHold } from "../fairness/upload-budget.ts";

/** Bytes of a body without the avatar: text fields, part headers, boundaries. */
const BODY_OVERHEAD_BYTES = 64 * 1024;

/** Longest value of a text field in bytes. */
const FIELD_MAX_BYTES = 4096;

/** Text fields that mean something; others are ignored. */
const TEXT_FIELDS = ["email", "password", "name"] as const;

/** How many forms with the largest avatar fit into memory at a time; of smaller ones more. */
const UPLOAD_CONCURRENCY = 16;

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
  /** Ends the read with its reason. */
  readonly signal: AbortSignal;
}

/** Largest body of a registration in bytes. */
export function formMaxBytes(avatarMaxBytes: number): number {
  return avatarMaxBytes + BODY_OVERHEAD_BYTES;
}

/** The memory for the forms of all calls. */
export function createUploadBudget(avatarMaxBytes: number): UploadBudget {
  const uploadMaxBytes = formMaxBytes(avatarMaxBytes);
  return new UploadBudget({ maxBytes: UPLOAD_CONCURRENCY * uploadMaxBytes, uploadMaxBytes }, busyError);
}

/**
 * Reads the form; rejects with an `AccountError` for every fault of the caller, and with
 * `busy` when others hold too much.
 */
export async function readRegistrationForm(request: IncomingMessage, options: FormOptions): Promise<RegistrationForm> {
  const contentType = request.headers["content-type"] ?? "";
  if (!/^multipart\/form-data\b/i.test(contentType))
    throw new AccountError("unsupported_media_type", "Send the form as multipart/form-data.");
  const body = await readBody(request, options);
  const parts = await parseParts(contentType, body, options.avatarMaxBytes);
  if (parts.some(({ name }) => name === undefined)) throw malformed("A part of the form has no name.", undefined);
  return {
    fields: new Map(TEXT_FIELDS.flatMap((name) => readText(parts, name))),
    avatar: readAvatar(parts, options.avatarMaxBytes),
  };
}

function readBody(request: IncomingMessage, { avatarMaxBytes, hold, signal }: FormOptions): Promise<Buffer> {
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
    const stop = (error: Error | undefined): void => {
      stopLate();
      signal.removeEventListener("abort", abort);
      request.off("data", take).off("end", end).off("close", fail);
      const received = chunks.splice(0); // The listener of errors would keep them.
      if (error === undefined) resolve(Buffer.concat(received));
      else reject(error);
    };
    const abort = (): void => stop(signal.reason as Error);
    const stopLate = onLateBody(request, stop);
    signal.addEventListener("abort", abort);
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
  /** True if it is larger than allowed. */
  isCut: boolean;
}

/** The parts of the form, none of which busboy dropped. */
async function parseParts(contentType: string, body: Buffer, avatarMaxBytes: number): Promise<readonly Part[]> {
  // busboy reports a value of exactly the size as cut, and a form of exactly `parts` parts as too long.
  const sizes = { fieldSize: FIELD_MAX_BYTES + 1, fileSize: avatarMaxBytes + 1 };
  const limits = { ...sizes, fields: 10, files: 4, parts: 12 };
  const parts = await parse(contentType, body, limits, tooManyParts());
  // It reports no part without Content-Disposition, and none that a damaged delimiter cuts in two, but counts
  // them: with these, there are more parts than it has reported.
  const message = "A part of the form has no Content-Disposition: form-data header, or a damaged delimiter.";
  const dropped = malformed(message, undefined);
  await parse(contentType, body, { ...limits, parts: parts.length + 1 }, dropped);
  return parts;
}

function parse(
  contentType: string,
  body: Buffer,
  limits: busboy.Limits,
  tooMany: AccountError,
): Promise<readonly Part[]> {
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
    parser.on("field", (name: string | undefined, text, { valueTruncated: isCut }) =>
      parts.push({ name, text, isCut }),
    );
    parser.on("file", (name: string | undefined, stream, info: { filename: string | undefined; encoding: string }) => {
      const chunks: Buffer[] = [];
      const part: Part = { name, file: { name: info.filename, encoding: info.encoding, chunks }, isCut: false };
      stream.on("data", (chunk: Buffer) => chunks.push(chunk)).on("error", damaged);
      stream.on("limit", () => (part.isCut = true));
      parts.push(part);
    });
    for (const event of ["partsLimit", "filesLimit", "fieldsLimit"] as const) parser.on(event, () => reject(tooMany));
    parser.on("error", damaged).on("close", () => resolve(parts));
    parser.end(body);
  });
}

function readText(parts: readonly Part[], name: (typeof TEXT_FIELDS)[number]): readonly (readonly [string, string])[] {
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
  if (part.isCut)
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
  const [avatar] = avatars;
  const file = avatar?.file;
  if (file === undefined) return undefined;
  if (!["7bit", "8bit", "binary"].includes(file.encoding.toLowerCase()))
    throw malformed("Send the avatar as plain bytes, without a transfer encoding.", undefined);
  if (avatar?.isCut === true) throw avatarTooLarge(maxBytes);
  const bytes = Buffer.concat(file.chunks);
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
