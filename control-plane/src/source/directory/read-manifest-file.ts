// Reads one manifest file: its text, and the resources and problems in the text.
import type { BigIntStats } from "node:fs";
import { lstat, open } from "node:fs/promises";
import { basename } from "node:path";

import { errorCode } from "@weir/common/errors/error-code";
import { describeError } from "@weir/common/errors/service-error";
import type { ManifestDocument } from "@weir/crds/rate-limit-config/manifest/manifest";
import { readManifests } from "@weir/crds/rate-limit-config/manifest/manifest";
import { TEXT_MAX_BYTES } from "@weir/limits/go-yaml/json-documents";

import type { SourceLocation, SourceRefusal, SourceResource } from "../source.ts";
import { resourceKey } from "../source.ts";

/** Namespace of a manifest that names none. */
const DEFAULT_NAMESPACE = "default";

/** The text of a file, or the reason why there is none. */
export type FileText =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "gone" }
  | { readonly kind: "unreadable"; readonly message: string };

/** The content of a file as far as its times, size and inode identify it. */
export interface FileVersion {
  readonly id: string;
  /** When the file was last changed, milliseconds since the epoch; programs cannot set this time. */
  readonly changedMs: number;
}

export interface ReadFile {
  readonly text: FileText;
  /** Of the very file that was read, taken before its text; absent when it could not be opened. */
  readonly version?: FileVersion;
}

/** A problem in a file. manifest-store.ts decides whether older revisions remain. */
export type FileProblem = Omit<SourceRefusal, "keepsLastGood">;

export interface FileContent {
  /** The valid resources; none when the file as a whole cannot be understood. */
  readonly resources: readonly SourceResource[];
  readonly problems: readonly FileProblem[];
}

/** Reads the text of a file. Never rejects: a problem with one file must not affect the others. */
export async function readFileText(path: string): Promise<ReadFile> {
  try {
    const file = await open(path, "r");
    try {
      const stats = await file.stat({ bigint: true });
      if (stats.size > TEXT_MAX_BYTES) {
        const message = `the file has ${stats.size} bytes, at most ${TEXT_MAX_BYTES} are read`;
        return { text: { kind: "unreadable", message } };
      }
      const text = new TextDecoder("utf-8", { fatal: true }).decode(await file.readFile());
      return { text: { kind: "text", text }, version: versionOf(stats) };
    } finally {
      await file.close();
    }
  } catch (error) {
    return { text: await textOfFailure(path, error) };
  }
}

/** The version of a file with these properties. */
export function versionOf({
  dev,
  ino,
  size,
  mtimeNs,
  ctimeNs,
}: Pick<BigIntStats, "dev" | "ino" | "size" | "mtimeNs" | "ctimeNs">): FileVersion {
  return { id: [dev, ino, size, mtimeNs, ctimeNs].join(" "), changedMs: Number(ctimeNs / 1_000_000n) };
}

/**
 * The resources of a text. A document with a problem has no resource, the others do; when the YAML
 * itself is broken, none has, because the borders of the documents are in doubt as well.
 */
export function readContent(path: string, text: string): FileContent {
  // An empty file remains when the program that wrote it was killed, or the disk was full.
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
      namespace: resource.metadata.namespace ?? DEFAULT_NAMESPACE,
      name: resource.metadata.name,
      createdMs: creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp),
      resource,
      place: { file: path, line, column: 1 },
      isLastGood: false,
      locate: (field): SourceLocation => ({ file: path, ...document.locate(field) }),
    },
  ];
}

/** The content of a file that cannot be used. */
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
 * Why a file that was listed cannot be found: it is gone, unless it is a link without a target or has
 * a name that Node cannot represent.
 */
async function textOfMissing(path: string): Promise<FileText> {
  if (await isLink(path)) return { kind: "unreadable", message: "the link leads nowhere" };
  // Node replaces bytes that are not UTF-8 by this character; a file of that name is another one.
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
