// Keeps the last good revisions of each resource in a folder, so that a restart while a manifest is broken
// loses no limit. One file for each resource, replaced as a whole.
import { hash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { describeError, ServiceError } from "@weir/common/errors/service-error";
import type { Log } from "@weir/common/log/log";
import { RateLimitedLog } from "@weir/common/log/rate-limited-log";
import { parseRateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";

import type { ControlPlaneErrorCode } from "../../errors.ts";
import {
  type LastGoodRevisions,
  resourceKey,
  type SourceRefusal,
  type SourceResource,
  type SourceState,
} from "../source.ts";

/** Shortest time between two warnings that a file cannot be written, in milliseconds. */
const WARNING_INTERVAL_MS = 60_000;

/** Most revisions that are kept of a resource. */
const REVISIONS_MAX = 6;

/** Names of files; others in the folder are left as they are. */
const FILE_NAME = /^[0-9a-f]{40}\.json$/;

/** The files of one folder. */
export class LastGoodFiles {
  readonly #folder: string;
  readonly #log: Log;
  readonly #warnings: RateLimitedLog;
  /**
   * As they were at the start, by name of the resource: later ones are known to the publisher. A
   * resource that was deleted since has none.
   */
  #kept: ReadonlyMap<string, LastGoodRevisions> = new Map();
  /** The texts of the files that are as they were at the start, by file name. */
  readonly #texts = new Map<string, string>();
  /** The revisions in the other files, by file name: making the texts of thousands takes a second. */
  readonly #written = new Map<string, LastGoodRevisions>();
  /** Resources with a last good revision: a source returns the same object for the same resource. */
  readonly #completed = new WeakMap<SourceResource, SourceResource>();
  readonly #restored = new Map<string, SourceResource>();

  constructor(folder: string, log: Log) {
    this.#folder = folder;
    this.#log = log;
    this.#warnings = new RateLimitedLog(log, { intervalMs: WARNING_INTERVAL_MS });
  }

  /** Makes the folder, and reads its files; fails with STATE_UNUSABLE when it cannot be used. */
  async open(): Promise<void> {
    try {
      await mkdir(this.#folder, { recursive: true });
      const names = (await readdir(this.#folder)).filter((name) => FILE_NAME.test(name));
      for (const name of names) this.#texts.set(name, await readFile(join(this.#folder, name), "utf8"));
      // Found out now, not when the first revision is lost.
      const probe = join(this.#folder, ".writable");
      await writeFile(probe, "");
      await rm(probe);
    } catch (cause) {
      const reason = `Cannot keep last good revisions in STATE_DIRECTORY: ${describeError(cause)}`;
      throw new ServiceError<ControlPlaneErrorCode>("STATE_UNUSABLE", reason, { cause });
    }
    this.#kept = new Map(
      [...this.#texts].flatMap(([name, text]) => {
        const kept = readRevisions(text);
        if (kept === undefined)
          this.#log.warn("Ignored a last good revision that cannot be read", { file: join(this.#folder, name) });
        return kept === undefined ? [] : [[resourceKey(kept), kept] as const];
      }),
    );
  }

  /** The state with the revisions that were good before the start: next to a current revision, or instead. */
  complete(state: SourceState): SourceState {
    if (this.#kept.size === 0) return state;
    const present = new Set(state.resources.map(resourceKey));
    const absent = [...this.#kept].filter(([key]) => !present.has(key));
    const restored = absent.flatMap(([key, kept]) => {
      const refusal = state.refusals.find(
        (each) =>
          each.reason === undefined && // A refusal with a reason is not about broken content.
          (each.resource === key || (each.resource === undefined && each.place.file === kept.file)),
      );
      const resource = refusal === undefined ? undefined : this.#restore(key, kept, refusal);
      return refusal === undefined || resource === undefined ? [] : [[refusal, resource] as const];
    });
    const keeps = new Set(restored.map(([refusal]) => refusal));
    // An empty folder may be an accident, after which everything comes back.
    if (present.size > 0 || state.refusals.length > 0) {
      const there = present.union(new Set(restored.map(([, resource]) => resourceKey(resource))));
      this.#kept = new Map([...this.#kept].filter(([key]) => there.has(key)));
    }
    return {
      resources: [
        ...state.resources.map((resource) => this.#withLastGood(resource)),
        ...restored.map(([, resource]) => resource),
      ],
      refusals: state.refusals.map((refusal) => (keeps.has(refusal) ? { ...refusal, keepsLastGood: true } : refusal)),
    };
  }

  /** Writes the revisions that differ from their files, and removes the files of other resources. */
  async keep(resources: readonly LastGoodRevisions[]): Promise<void> {
    const wanted = new Map(resources.map((resource) => [fileNameOf(resourceKey(resource)), resource]));
    try {
      for (const [name, resource] of wanted) {
        if (areSame(this.#written.get(name), resource)) continue;
        const text = textOf(resource);
        if (this.#texts.get(name) !== text) await this.#write(name, text);
        this.#texts.delete(name);
        this.#written.set(name, resource);
      }
      for (const name of [...this.#texts.keys(), ...this.#written.keys()]) {
        if (wanted.has(name)) continue;
        await rm(join(this.#folder, name), { force: true });
        for (const files of [this.#texts, this.#written]) files.delete(name);
      }
      this.#warnings.recovered("Last good revisions can be kept again", { folder: this.#folder });
    } catch (error) {
      this.#warnings.warn("Cannot keep last good revisions", { folder: this.#folder, error });
    }
  }

  async #write(name: string, text: string): Promise<void> {
    const path = join(this.#folder, name);
    await writeFile(`${path}.new`, text, { flush: true });
    await rename(`${path}.new`, path);
  }

  #withLastGood(resource: SourceResource): SourceResource {
    const kept = this.#kept.get(resourceKey(resource));
    if (kept === undefined) return resource;
    return this.#completed.getOrInsertComputed(resource, () => ({ ...resource, lastGood: kept.revisions }));
  }

  #restore(
    key: string,
    { namespace, name, revisions }: LastGoodRevisions,
    { place }: SourceRefusal,
  ): SourceResource | undefined {
    const known = this.#restored.get(key);
    if (known?.place.file === place.file && known.place.line === place.line) return known;
    const [resource, ...lastGood] = revisions;
    if (resource === undefined) return undefined;
    const { creationTimestamp } = resource.metadata;
    const createdMs = creationTimestamp === undefined ? 0 : Date.parse(creationTimestamp);
    const restored = { namespace, name, createdMs, resource, place, isLastGood: true, lastGood, locate: () => place };
    this.#restored.set(key, restored);
    return restored;
  }
}

function fileNameOf(key: string): string {
  return `${hash("sha1", key)}.json`;
}

/** Returns true if the text is the same; a revision stays the same object. */
function areSame(left: LastGoodRevisions | undefined, right: LastGoodRevisions): boolean {
  if (left?.file !== right.file || left.revisions.length !== right.revisions.length) return false;
  return left.revisions.every((revision, index) => revision === right.revisions[index]);
}

function textOf({ namespace, name, file, revisions }: LastGoodRevisions): string {
  const texts = new Set(revisions.map((revision) => JSON.stringify(revision)));
  const distinct = [...texts].slice(0, REVISIONS_MAX).map((text) => JSON.parse(text) as unknown);
  return `${JSON.stringify({ namespace, name, file, revisions: distinct }, undefined, 2)}\n`;
}

function readRevisions(text: string): LastGoodRevisions | undefined {
  try {
    const { namespace, name, file, revisions } = JSON.parse(text) as Readonly<Record<keyof LastGoodRevisions, unknown>>;
    if (
      typeof namespace !== "string" ||
      typeof name !== "string" ||
      typeof file !== "string" ||
      !Array.isArray(revisions)
    )
      return undefined;
    const parsed = revisions
      .map((revision) => parseRateLimitConfigResource(revision))
      .filter((revision) => revision.ok);
    return parsed.length === 0
      ? undefined
      : { namespace, name, file, revisions: parsed.map(({ resource }) => resource) };
  } catch {
    return undefined; // Not JSON; the caller logs it.
  }
}
