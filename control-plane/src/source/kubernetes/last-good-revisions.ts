// The last good revisions of RateLimitConfigs that outlive every replica: follows RateLimitConfigRevisions, and adds what they have
// to the objects that own them. The account may lack the right to read them, and the kind may be missing.
import type { Log } from "@weir/common/log/log";
import { API_VERSION, KIND, parseRateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import type { RateLimitConfigResource } from "@weir/crds/rate-limit-config/schema/schema";
import { ruleProblems, withShadowMode } from "@weir/crds/rate-limit-config/translate/translate";
import { REVISION_PLURAL } from "@weir/crds/rate-limit-config-revision/revision";
import { specOfRevision } from "@weir/crds/rate-limit-config-revision/revision-spec";
import { type ApiResource, describeResource } from "@weir/kubernetes/client/api-resource";
import {
  NO_FAILURES,
  type ReflectorDeps,
  type ReflectorPace,
  ReflectorRun,
} from "@weir/kubernetes/reflector/reflector-run";

import { RevisionStore } from "./revision-store.ts";
import { placeOf, type StoredObject } from "./stored-object.ts";

/**
 * Longest time that the source waits for revisions after it has listed everything else, in milliseconds: they must not keep a replica
 * from serving what is valid.
 */
const WAIT_MS = 5000;

/**
 * Refusals after which the source no longer waits: an API server that has just started refuses for a moment what it
 * allows.
 */
const REFUSALS_MAX = 2;

/** The dependencies that reflectors of the source share. */
export type SharedReflectorDeps = Pick<ReflectorDeps, "client" | "changed" | "log" | "clock" | "random">;

/** The revisions of all namespaces, or of some. */
export class LastGoodRevisions {
  readonly #log: Log;
  readonly #waitMs: number;
  readonly #stores: RevisionStore[] = [];
  readonly #reflectors: ReflectorRun[] = [];
  readonly #settled: Promise<void>[] = [];
  /** Reflectors that the API server refuses, by their resource. */
  readonly #refused = new Set<string>();
  /** The resource that the content of each revision gives by itself: undefined when its spec is not valid. */
  readonly #revisions = new WeakMap<object, RateLimitConfigResource | undefined>();
  readonly #completed = new WeakMap<
    StoredObject,
    { readonly from: readonly unknown[]; readonly object: StoredObject }
  >();

  /** `waitMs` is for tests. */
  constructor(log: Log, waitMs: number = WAIT_MS) {
    this.#log = log;
    this.#waitMs = waitMs;
  }

  /** Follows the revisions next to some RateLimitConfigs, until `stop`. */
  follow(shared: SharedReflectorDeps, configs: ApiResource, pace: ReflectorPace): void {
    const resource = { ...configs, plural: REVISION_PLURAL };
    const { promise, resolve } = Promise.withResolvers<void>();
    let refusals = 0;
    const store = new RevisionStore();
    const deps: ReflectorDeps = {
      ...shared,
      sink: store,
      counts: { lists: 0, watches: 0, failures: { ...NO_FAILURES } },
      problems: {
        failed: (_name, { isRefusal, reason }) => {
          if (isRefusal) this.#noteRefusal(resource, reason);
        },
        following: () => this.#noteFollowing(resource),
      },
      failed: ({ isRefusal }) => {
        if (isRefusal) refusals += 1;
        if (refusals >= REFUSALS_MAX) resolve();
      },
    };
    const reflector = new ReflectorRun(deps, resource, pace);
    this.#stores.push(store);
    this.#reflectors.push(reflector);
    this.#settled.push(Promise.race([reflector.synced, promise]));
  }

  /** Resolves when everything was listed once or is refused, but after a few seconds at the latest. */
  async wait(): Promise<void> {
    const { promise: late, resolve } = Promise.withResolvers<"late">();
    const timer = setTimeout(() => resolve("late"), this.#waitMs);
    const first = await Promise.race([Promise.all(this.#settled), late]);
    clearTimeout(timer);
    if (first === "late")
      this.#log.warn("Started before the last good revisions in RateLimitConfigRevisions were listed", {
        waitMs: this.#waitMs,
      });
  }

  stop(): void {
    for (const reflector of this.#reflectors) reflector.stop();
  }

  /** Returns true if all revisions were listed, and can be listed again as far as is known. */
  isReadable(): boolean {
    return (
      this.#refused.size === 0 && this.#reflectors.every((reflector) => reflector.condition().syncedMs !== undefined)
    );
  }

  /**
   * The object with what its RateLimitConfigRevisions have: next to its current revision, or the newest in place of one that is
   * invalid and of which this process has seen no good one. Returns the same object for the same revisions.
   */
  complete(object: StoredObject): StoredObject {
    const known = this.#completed.get(object);
    if (known !== undefined && this.#areSame(known.from, object)) return known.object;
    const from = this.#stores.map((store) => store.revisionsOf(object));
    const revisions = from.flat().flatMap(({ content }) => this.#revisionOf(content, object) ?? []);
    const completed = revisions.length === 0 ? object : withRevisions(object, revisions);
    this.#completed.set(object, { from, object: completed });
    return completed;
  }

  /**
   * The content of a RateLimitConfigRevision, if it is valid. The domain must be that of its owner, which cannot be edited: a revision
   * that a user wrote by hand must not claim another domain with the age of its owner.
   */
  #revisionOf(content: Readonly<Record<string, unknown>>, owner: StoredObject): RateLimitConfigResource | undefined {
    if (!this.#revisions.has(content)) this.#revisions.set(content, validRevision(specOfRevision(content), owner));
    const revision = this.#revisions.get(content);
    return revision?.spec.domain === owner.domain ? revision : undefined;
  }

  /** Returns true if the stores still have these lists of revisions; thousands of objects are asked for in a row. */
  #areSame(lists: readonly unknown[], object: StoredObject): boolean {
    for (let index = 0; index < this.#stores.length; index++)
      if (this.#stores[index]?.revisionsOf(object) !== lists[index]) return false;
    return lists.length === this.#stores.length;
  }

  #noteRefusal(resource: ApiResource, reason: string): void {
    const name = describeResource(resource);
    if (this.#refused.has(name)) return;
    this.#refused.add(name);
    this.#log.info(
      "Last good revisions in RateLimitConfigRevisions cannot be read, so none from before this process is served",
      {
        resource: name,
        reason,
      },
    );
  }

  #noteFollowing(resource: ApiResource): void {
    const name = describeResource(resource);
    if (this.#refused.delete(name))
      this.#log.info("Last good revisions in RateLimitConfigRevisions can be read", { resource: name });
  }
}

function validRevision(spec: unknown, { namespace, name, uid }: StoredObject): RateLimitConfigResource | undefined {
  const manifest = { apiVersion: API_VERSION, kind: KIND, metadata: { namespace, name, uid }, spec };
  try {
    const parsed = parseRateLimitConfigResource(manifest, { unknownFields: "ignore" });
    return parsed.ok && ruleProblems(parsed.resource).length === 0 ? parsed.resource : undefined;
  } catch {
    return undefined; // A check that throws on one object must not affect the other ones.
  }
}

function withRevisions(object: StoredObject, revisions: readonly RateLimitConfigResource[]): StoredObject {
  const [resource] = revisions;
  if (resource === undefined) return object;
  if (object.resource !== undefined) return { ...object, resource: { ...object.resource, lastGood: revisions } };
  const { namespace, name, createdMs, uid } = object;
  const place = placeOf(object);
  return {
    ...object,
    resource: {
      namespace,
      name,
      createdMs,
      uid,
      resource: withShadowMode(resource, object.shadowMode),
      place,
      isLastGood: true,
      lastGood: revisions,
      locate: () => place,
    },
    refusals: object.refusals.map((refusal) => ({ ...refusal, keepsLastGood: true })),
  };
}
