// Reads the multipart form of a registration into memory, within bounds at every step.
// users/inputs.ts checks the values.
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import busboy from "busboy";
import { AccountError, fieldError } from "../errors.ts";
import { busyError } from "../users/password-hasher.ts";
import { createPartCounter, type PartCounter } from "./part-counter.ts";
import type { UploadHold } from "./upload-budget.ts";

/** Bytes of a body without the avatar: text fields, part headers, boundaries. */
const BODY_OVERHEAD_BYTES = 64 * 1024;

/** Longest value of a text field in bytes. */
const FIELD_MAX_BYTES = 4096;

/** Text fields that mean something; others are ignored. */
const TEXT_FIELDS: ReadonlySet<string> = new Set(["email", "password", "name"]);

const AVATAR_FIELD = "avatar";

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
export function readRegistrationForm(request: IncomingMessage, options: FormOptions): Promise<RegistrationForm> {
  const bodyMaxBytes = formMaxBytes(options.avatarMaxBytes);
  if (!/^multipart\/form-data\b/i.test(request.headers["content-type"] ?? "")) {
    return Promise.reject(new AccountError("unsupported_media_type", "Send the registration as multipart/form-data."));
  }
  if (Number(request.headers["content-length"] ?? 0) > bodyMaxBytes) return Promise.reject(bodyTooLarge(bodyMaxBytes));
  return new Promise((resolve, reject) => {
    new FormReader(request, { ...options, bodyMaxBytes }, resolve, reject).start();
  });
}

/** The facts of a file from busboy; its own types lack that an empty name arrives as undefined. */
interface PartInfo {
  readonly encoding: string;
  readonly filename: string | undefined;
}

class FormReader {
  readonly #request: IncomingMessage;
  readonly #options: FormOptions & { readonly bodyMaxBytes: number };
  readonly #resolve: (form: RegistrationForm) => void;
  readonly #reject: (error: Error) => void;
  readonly #fields = new Map<string, string>();
  #avatar: Buffer[] | undefined;
  #avatarBytes = 0;
  #isAvatarNamed = false;
  #bodyBytes = 0;
  #partsSeen = 0;
  #isSettled = false;

  constructor(
    request: IncomingMessage,
    options: FormOptions & { readonly bodyMaxBytes: number },
    resolve: (form: RegistrationForm) => void,
    reject: (error: Error) => void,
  ) {
    this.#request = request;
    this.#options = options;
    this.#resolve = resolve;
    this.#reject = reject;
  }

  start(): void {
    const counter = createPartCounter(this.#request.headers["content-type"] ?? "");
    const parser = createParser(this.#request, this.#options.avatarMaxBytes);
    if (parser === undefined || counter === undefined) {
      this.#reject(malformed("The form has no usable boundary.", undefined));
      return;
    }
    parser.on("field", (name: string | undefined, value, info) => {
      this.#guard(() => this.#takeField(name, value, info));
    });
    parser.on("file", (name: string | undefined, file, info) => {
      this.#guard(() => this.#takeFile(name, file, info));
    });
    for (const event of ["partsLimit", "filesLimit", "fieldsLimit"] as const) {
      parser.on(event, () => {
        this.#fail(
          new AccountError("too_many_parts", "The form has too many parts: at most 10 text fields and one file."),
        );
      });
    }
    parser.on("error", (cause) =>
      this.#fail(malformed("The form cannot be read: it is damaged or ends too early.", cause)),
    );
    parser.on("close", () => this.#finish(counter));
    this.#pump(parser, counter);
  }

  /** Feeds the body to the parser at the parser's pace, counting as it goes. */
  #pump(parser: busboy.Busboy, counter: PartCounter): void {
    const request = this.#request;
    const onData = (chunk: Buffer): void => {
      this.#bodyBytes += chunk.length;
      if (this.#bodyBytes > this.#options.bodyMaxBytes) {
        this.#fail(bodyTooLarge(this.#options.bodyMaxBytes));
        return;
      }
      if (!this.#options.hold.take(chunk.length)) {
        this.#fail(busyError());
        return;
      }
      counter.push(chunk);
      if (!parser.write(chunk)) {
        request.pause();
        parser.once("drain", () => request.resume());
      }
    };
    const onEnd = (): void => void parser.end();
    const onClose = (): void => {
      // Node closes every request; before its end means that the connection broke.
      if (!request.readableEnded) this.#fail(malformed("The form ends too early.", undefined));
    };
    this.#stop = () => {
      request.off("data", onData).off("end", onEnd).off("close", onClose).off("error", onClose);
      request.on("error", ignoreLateError);
      parser.removeAllListeners("drain");
      // Deferred: busboy may be in the middle of a chunk, and throws when it is destroyed there.
      process.nextTick(() => parser.destroy());
    };
    request.on("data", onData).on("end", onEnd).on("close", onClose).on("error", onClose);
  }

  #stop: () => void = () => undefined;

  #takeField(name: string | undefined, value: string, info: busboy.FieldInfo): void {
    this.#partsSeen += 1;
    if (name === undefined) throw malformed("A part of the form has no name.", undefined);
    if (name === AVATAR_FIELD) throw notAFile();
    if (!TEXT_FIELDS.has(name)) return; // Never copied anywhere, whatever it is called.
    if (info.valueTruncated) {
      throw fieldError("validation_failed", {
        field: name,
        message: `The field is longer than ${FIELD_MAX_BYTES} bytes.`,
        code: `${name}_too_long`,
      });
    }
    if (this.#fields.has(name)) throw duplicate(name);
    this.#fields.set(name, value);
  }

  #takeFile(name: string | undefined, file: Readable, info: PartInfo): void {
    this.#partsSeen += 1;
    // The parser and the file both report a body that breaks off; without a listener here that
    // would end the process.
    file.on("error", (cause) => this.#fail(malformed("The form ends too early.", cause)));
    if (name !== AVATAR_FIELD) file.resume();
    if (name === undefined) throw malformed("A part of the form has no name.", undefined);
    if (TEXT_FIELDS.has(name))
      throw fieldError("validation_failed", {
        field: name,
        message: "Send this field as text, not as a file.",
        code: `invalid_${name}`,
      });
    if (name !== AVATAR_FIELD) return;
    if (!isPlainEncoding(info.encoding))
      throw malformed("Send the avatar as plain bytes, without a transfer encoding.", undefined);
    const chunks: Buffer[] = [];
    this.#avatar = chunks;
    this.#isAvatarNamed = info.filename !== undefined;
    file.on("data", (chunk: Buffer) => {
      this.#avatarBytes += chunk.length;
      chunks.push(chunk);
      if (this.#avatarBytes > this.#options.avatarMaxBytes) this.#fail(avatarTooLarge(this.#options.avatarMaxBytes));
    });
  }

  #finish(counter: PartCounter): void {
    if (counter.parts() !== this.#partsSeen) {
      this.#fail(malformed("A part of the form has no Content-Disposition: form-data header.", undefined));
      return;
    }
    this.#settle(() => {
      // Browsers send a file input in which nothing was chosen as an empty file without a name.
      const isChosen = this.#avatarBytes > 0 || this.#isAvatarNamed;
      this.#resolve({
        fields: this.#fields,
        avatar: this.#avatar !== undefined && isChosen ? Buffer.concat(this.#avatar) : undefined,
      });
    });
  }

  #guard(step: () => void): void {
    try {
      step();
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error("Cannot read the form", { cause: error }));
    }
  }

  #fail(error: Error): void {
    this.#settle(() => this.#reject(error));
  }

  #settle(outcome: () => void): void {
    if (this.#isSettled) return;
    this.#isSettled = true;
    this.#stop();
    outcome();
  }
}

function createParser(request: IncomingMessage, avatarMaxBytes: number): busboy.Busboy | undefined {
  // Sizes have one byte more than allowed, to distinguish a value of exactly the limit from
  // one that was cut.
  const sizes = { fieldNameSize: 100, fieldSize: FIELD_MAX_BYTES + 1, fileSize: avatarMaxBytes + 1 };
  try {
    return busboy({ headers: request.headers, limits: { ...sizes, fields: 10, files: 1, parts: 12, headerPairs: 20 } });
  } catch {
    return undefined; // It throws for a Content-Type without a boundary, and for nothing else here.
  }
}

function isPlainEncoding(encoding: string): boolean {
  return ["7bit", "8bit", "binary"].includes(encoding.toLowerCase());
}

function ignoreLateError(): void {
  // The outcome is settled; a connection that breaks afterwards changes nothing.
}

function malformed(message: string, cause: unknown): AccountError {
  return new AccountError("malformed_multipart", message, { cause });
}

function duplicate(field: string): AccountError {
  return fieldError("duplicate_field", {
    field,
    message: "The form holds this field more than once.",
    code: "duplicate_field",
  });
}

function notAFile(): AccountError {
  return fieldError("validation_failed", {
    field: AVATAR_FIELD,
    message: "Send the avatar as a file.",
    code: "invalid_avatar",
  });
}

function avatarTooLarge(maxBytes: number): AccountError {
  const message = `The avatar must have at most ${maxBytes} bytes.`;
  return fieldError("avatar_too_large", { field: AVATAR_FIELD, message, code: "avatar_too_large" });
}

function bodyTooLarge(maxBytes: number): AccountError {
  return new AccountError("body_too_large", `The body must have at most ${maxBytes} bytes.`);
}
