// One manifest file: its text, and what the text says. What it said before is the business of
// manifest-memory.ts.
import { lstat, open } from "node:fs/promises";
import { basename } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError } from "@weir/common/errors/service-error";
import type { ManifestDocument } from "@weir/crds/rate-limit-config/manifest/manifest";
import { readManifests } from "@weir/crds/rate-limit-config/manifest/manifest";
import { TEXT_MAX_BYTES } from "@weir/limits/go-yaml/json-documents";

import type { Place, SourceRefusal, SourceResource } from "../source.ts";
import { resourceKey } from "../source.ts";

/** Namespace of a manifest that names none. */
const DEFAULT_NAMESPACE = "default";

/** The text of a file, or why there is none. */
export type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "gone" }
  | { readonly kind: "unreadable"; readonly message: string };

/**
 * What tells the content of a file from any other content that the same path may lead to, as long
 * as the times of the file system can.
 */
export interface FileVersion {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
  readonly ctimeNs: bigint;
}

/** A file that was read. */
export interface ReadFile {
  readonly text: FileText;
  /**
   * Of the very file that was read, taken before its text was; absent when it could not be opened.
   */
  readonly version?: FileVersion;
}

/** What is wrong in a file; whether older forms stay is not known here. */
export type FileProblem = Omit<SourceRefusal, "keepsLastGood">;

/** What a file says. */
export interface FileContent {
  /** The resources that are good; none when the file as a whole cannot be understood. */
  readonly resources: readonly SourceResource[];
  readonly problems: readonly FileProblem[];
}

/**
 * Reads the text of a file. Never rejects: what is wrong with one file is a matter of that file.
 */
export async function readFileText(path: string): Promise<ReadFile> {
  try {
    const file = await open(path, "r");
    try {
      const version = await file.stat({ bigint: true });
      if (version.size > TEXT_MAX_BYTES) {
        return {
          text: {
            kind: "unreadable",
            message: `the file has ${version.size} bytes, at most ${TEXT_MAX_BYTES} are read`,
          },
        };
      }
      return {
        text: { kind: "text", text: new TextDecoder("utf-8", { fatal: true }).decode(await file.readFile()) },
        version,
      };
    } finally {
      await file.close();
    }
  } catch (error) {
    return { text: await textOfFailure(path, error) };
  }
}

/** Whether two looks at a file have found the same. */
export function isSameText(left: FileText, right: FileText): boolean {
  switch (left.kind) {
    case "text":
      return right.kind === "text" && left.text === right.text;
    case "unreadable":
      return right.kind === "unreadable" && left.message === right.message;
    case "gone":
      return right.kind === "gone";
  }
}

/**
 * The resources of a text. A document with a problem gives no resource, the others do; where the
 * YAML itself is broken, none does, because the borders of the documents are in doubt as well.
 */
export function readContent(path: string, text: string): FileContent {
  // What is left when the program that wrote the file was killed, or the disk was full. Who means
  // it deletes the file, or leaves a comment.
  if (text.trim() === "") return refusedFile(path, "the file is empty; delete it if there should be nothing");
  const documents = readManifests(text);
  const problems = documents.flatMap((document) =>
    document.problems.map(({ line, column, field, message }) => ({
      place: { file: path, line, column },
      field,
      message,
      resource:
        document.identity === undefined
          ? undefined
          : resourceKey({ namespace: DEFAULT_NAMESPACE, ...document.identity }),
    })),
  );
  const isBroken = documents.some(
    (document) => document.resource === undefined && document.problems.some(({ field }) => field === ""),
  );
  return { problems, resources: isBroken ? [] : documents.flatMap((document) => resourceOf(path, document)) };
}

function resourceOf(path: string, document: ManifestDocument): readonly SourceResource[] {
  const { resource, problems, line } = document;
  if (resource === undefined || problems.length > 0) return [];
  const { creationTimestamp } = resource.metadata;
  return [
    {
      ...identityOf(resource),
      createdMs: creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp),
      resource,
      place: { file: path, line, column: 1 },
      isLastGood: false,
      locate: (field): Place => ({ file: path, ...document.locate(field) }),
    },
  ];
}

function identityOf(resource: {
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
}): {
  readonly namespace: string;
  readonly name: string;
} {
  return { namespace: resource.metadata.namespace ?? DEFAULT_NAMESPACE, name: resource.metadata.name };
}

/** The content of a file of which nothing can be used. */
export function refusedFile(path: string, message: string): FileContent {
  return {
    resources: [],
    problems: [{ place: { file: path, line: 1, column: 1 }, field: "", message, resource: undefined }],
  };
}

async function textOfFailure(path: string, error: unknown): Promise<FileText> {
  switch (errorCode(error)) {
    case "ENOENT":
    case "ENOTDIR":
    case "ELOOP":
      return textOfMissing(path);
    case "ERR_ENCODING_INVALID_ENCODED_DATA":
      return { kind: "unreadable", message: "the file is not UTF-8 text" };
    case "EACCES":
    case "EPERM":
      return { kind: "unreadable", message: "this user may not read the file" };
    default:
      return { kind: "unreadable", message: describeError(error) };
  }
}

/**
 * Of a file that was listed and cannot be found: it is gone, unless it is a link without a target
 * or has a name that Node cannot say.
 */
async function textOfMissing(path: string): Promise<FileText> {
  if (await isLink(path)) return { kind: "unreadable", message: "the link leads nowhere" };
  // Node puts this character where the bytes of a name are not UTF-8; the file of that name is
  // another one, or none.
  if (basename(path).includes("\ufffd"))
    return { kind: "unreadable", message: "the name of the file is not UTF-8 text" };
  return { kind: "gone" };
}

async function isLink(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isSymbolicLink();
  } catch {
    return false; // Gone meanwhile.
  }
}
