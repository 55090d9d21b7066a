// What the files of a folder say, together with what they said when they were last good. Pure but
// for its memory: texts come in, a state comes out.
import { describeError } from "@weir/common/errors/service-error";

import type { SourceRefusal, SourceResource, SourceState } from "../source.ts";
import { resourceKey } from "../source.ts";
import type { FileContent, FileText } from "./read-manifest-file.ts";
import { isSameText, readContent, refusedFile } from "./read-manifest-file.ts";

/** Remembers files from one look at the folder to the next. */
export interface ManifestMemory {
  /**
   * Takes over one complete look at the folder: the text of every file, sorted by path. Answers the
   * same object when nothing has changed.
   */
  update(files: ReadonlyMap<string, FileText>): SourceState;
}

/** Makes an empty memory. */
export function createManifestMemory(): ManifestMemory {
  return new FileMemory();
}

interface KnownFile {
  /**
   * What was read; compared with what is read next, so that only changed files are parsed again.
   */
  readonly read: FileText;
  readonly content: FileContent;
  /**
   * The resources that this file stands for when its last state was all good, or what is left of
   * them.
   */
  readonly lastGood: readonly SourceResource[];
}

class FileMemory implements ManifestMemory {
  #files: ReadonlyMap<string, KnownFile> = new Map();
  #state: SourceState | undefined;

  update(files: ReadonlyMap<string, FileText>): SourceState {
    const present = [...files].filter(([, text]) => text.kind !== "gone");
    const next = new Map(present.map(([path, text]) => [path, this.#readFile(path, text)]));
    const isSame = next.size === this.#files.size && [...next].every(([path, file]) => this.#files.get(path) === file);
    this.#files = next;
    if (this.#state === undefined || !isSame) this.#state = stateOf([...next.values()]);
    return this.#state;
  }

  #readFile(path: string, read: FileText): KnownFile {
    const known = this.#files.get(path);
    if (known !== undefined && isSameText(known.read, read)) return known;
    const content = contentOf(path, read);
    // The same rule for a broken file and for one broken document among good ones: while anything
    // in a file is refused, what it was good for before stays, except what it is good for now.
    const kept = content.problems.length === 0 ? [] : without(known?.lastGood ?? [], keysOf(content.resources));
    return {
      read,
      content,
      lastGood: [...content.resources, ...kept.map((resource) => ({ ...resource, isLastGood: true }))],
    };
  }
}

function contentOf(path: string, read: FileText): FileContent {
  switch (read.kind) {
    case "text":
      try {
        return readContent(path, read.text);
      } catch (error) {
        // A text that the reader stumbles over must not take the other files along.
        return refusedFile(path, `the file cannot be read as a manifest: ${describeError(error)}`);
      }
    case "unreadable":
      return refusedFile(path, read.message);
    case "gone":
      return { resources: [], problems: [] };
  }
}

function stateOf(files: readonly KnownFile[]): SourceState {
  // Once for all files: a set for each of them would make thousands of files take minutes.
  const present = keysOf(files.flatMap((file) => file.content.resources));
  // A resource may have moved to another file while the old one is broken: the present form wins
  // over the remembered one.
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
