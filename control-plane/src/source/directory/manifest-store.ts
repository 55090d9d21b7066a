// Stores the resources of the files of a folder, with the last good revision of those that become
// invalid.
import { isDeepStrictEqual } from "node:util";

import { describeError } from "@weir/common/errors/service-error";

import { boundNamespaces } from "../bound-namespaces.ts";
import type { SourceRefusal, SourceResource, SourceState } from "../source.ts";
import { resourceKey } from "../source.ts";
import type { FileContent, FileText } from "./read-manifest-file.ts";
import { readContent, refusedFile } from "./read-manifest-file.ts";

interface StoredFile {
  /** Compared with the next text, so that only changed files are parsed again. */
  readonly text: FileText;
  readonly content: FileContent;
  /** The resources of the file when it last had no problem, or what is left of them. */
  readonly lastGood: readonly SourceResource[];
}

/** The files of one folder. */
export class ManifestStore {
  readonly #namespaceMax: number | undefined;
  #files: ReadonlyMap<string, StoredFile> = new Map();
  #state: SourceState | undefined;

  /** Serves at most `namespaceMax` resources of a namespace; undefined: the usual number. */
  constructor(namespaceMax?: number) {
    this.#namespaceMax = namespaceMax;
  }

  /**
   * Replaces all files: takes the text of every file, sorted by path. Returns the same object when
   * nothing has changed.
   */
  update(texts: ReadonlyMap<string, FileText>): SourceState {
    const present = [...texts].filter(([, text]) => text.kind !== "gone");
    const next = new Map(present.map(([path, text]) => [path, this.#storedFile(path, text)]));
    const isSame = next.size === this.#files.size && [...next].every(([path, file]) => this.#files.get(path) === file);
    this.#files = next;
    if (this.#state === undefined || !isSame)
      this.#state = boundNamespaces(stateOf([...next.values()]), this.#namespaceMax);
    return this.#state;
  }

  #storedFile(path: string, text: FileText): StoredFile {
    const before = this.#files.get(path);
    if (before !== undefined && isDeepStrictEqual(before.text, text)) return before;
    const content = contentOf(path, text);
    // The same rule for a broken file and for one invalid document among valid ones: while a file has
    // a problem, its last good resources remain, except those that it has now.
    const kept = content.problems.length === 0 ? [] : without(before?.lastGood ?? [], keysOf(content.resources));
    return {
      text,
      content,
      lastGood: [...content.resources, ...kept.map((resource) => ({ ...resource, isLastGood: true }))],
    };
  }
}

function contentOf(path: string, file: FileText): FileContent {
  switch (file.kind) {
    case "text":
      try {
        return readContent(path, file.text);
      } catch (error) {
        // A text for which the parser throws must not affect the other files.
        return refusedFile(path, `the file cannot be read as a manifest: ${describeError(error)}`);
      }
    case "unreadable":
      return refusedFile(path, file.message);
    case "gone":
      return { resources: [], problems: [] };
  }
}

function stateOf(files: readonly StoredFile[]): SourceState {
  // One set for all files: one for each would make thousands of files take minutes.
  const present = keysOf(files.flatMap((file) => file.content.resources));
  // A resource may have moved to another file while the old one is broken: the current revision wins over
  // the last good one.
  const resources = files.flatMap((file) => [
    ...file.content.resources,
    ...without(
      file.lastGood.filter((resource) => resource.isLastGood),
      present,
    ),
  ]);
  const refusals = files.flatMap((file) => {
    const keepsLastGood = file.lastGood.some((resource) => resource.isLastGood);
    return file.content.problems.map((problem): SourceRefusal => ({ ...problem, keepsLastGood }));
  });
  return { resources, refusals };
}

function keysOf(resources: readonly SourceResource[]): ReadonlySet<string> {
  return new Set(resources.map(resourceKey));
}

function without(resources: readonly SourceResource[], keys: ReadonlySet<string>): readonly SourceResource[] {
  return resources.filter((resource) => !keys.has(resourceKey(resource)));
}
