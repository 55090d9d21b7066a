// Property test of what pods of both variants are sent: random edits, connections, answers and losses of pods of
// random images. Once events stop, responses stop, and no pod lacks what it would accept.
import { create, fromBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
  DiscoveryRequestSchema,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { PodRevisions, type SentRevisions } from "../../pods/pod-revisions.ts";
import { encodeResource } from "../../snapshot/response-bytes.ts";
import type { Revision } from "../../snapshot/revision.ts";
import { RevisionHistory } from "../../snapshot/revision-history.ts";
import { NOTHING_KNOWN, revisionOf, type RevisionText } from "../../snapshot/revisions.suite.ts";
import { Snapshot } from "../../snapshot/snapshot.ts";
import { DeltaVariant } from "./delta.ts";
import { SotwVariant } from "./sotw.ts";
import type { Meaning, Variant } from "./variant.ts";

const NAMES = ["team/a", "team/b", "team/c", "other/d", ...Array.from({ length: 10 }, (_, index) => `crowd/${index}`)];
const CONTENTS = [1, 2, 3];

/** An image of a pod: the contents that it cannot load, and whether its NACKs name the resource. */
interface Image {
  readonly refuses: readonly string[];
  readonly names: boolean;
}

type Step =
  | { readonly kind: "edit"; readonly name: string; readonly content: number; readonly identity: string }
  | { readonly kind: "delete"; readonly name: string }
  | { readonly kind: "connect"; readonly image: Image }
  | { readonly kind: "disconnect" | "answer"; readonly pod: number };

function steps(names: fc.Arbitrary<boolean>): fc.Arbitrary<readonly Step[]> {
  const name = fc.constantFrom(...NAMES);
  const content = fc.constantFrom(...CONTENTS);
  const identity = fc.constantFrom("one", "one", "one", "two");
  const pod = fc.nat({ max: 20 });
  const every = NAMES.flatMap((each) => CONTENTS.map((limit) => `${each}=${limit}`));
  const refuses = fc.oneof(fc.constant([]), fc.subarray(every), fc.constant(every));
  return fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("edit" as const), name, content, identity }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("delete" as const), name }) },
      {
        weight: 3,
        arbitrary: fc.record({ kind: fc.constant("connect" as const), image: fc.record({ refuses, names }) }),
      },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("disconnect" as const), pod }) },
      { weight: 8, arbitrary: fc.record({ kind: fc.constant("answer" as const), pod }) },
    ),
    { minLength: 5, maxLength: 80 },
  );
}

/** `<namespace>/<name>=<content>` by digest. */
const CONTENT_OF = new Map<string, string>();

/** A revision whose only rule has its content as the key. */
function revision(text: RevisionText): Revision {
  const made = revisionOf(text);
  const key = `${text.name}=${text.content}`;
  CONTENT_OF.set(made.digest, key);
  return { ...made, bytes: encodeResource(create(RateLimitConfigSchema, { name: text.name, descriptors: [{ key }] })) };
}

/** A pod at the other end of a stream. */
class Pod {
  readonly image: Image;
  readonly revisions: PodRevisions;
  readonly #isIncremental: boolean;
  readonly #variant: Variant;
  #version = "";
  responses = 0;

  constructor(image: Image, replica: Replica) {
    this.image = image;
    this.#isIncremental = replica.isIncremental;
    const revisionsOf = (name: string): readonly Revision[] => replica.history.revisionsOf(name);
    const deps = { revisionsOf, snapshotMaxBytes: Infinity };
    this.revisions = new PodRevisions({ ...deps, isIncremental: this.#isIncremental, clock: () => replica.nowMs });
    this.#variant = this.#isIncremental ? new DeltaVariant({ ...deps, startResponseBytes: 300 }) : new SotwVariant();
    this.#request();
  }

  /** Sends what is due and takes the pod's answer; returns whether anything was sent. */
  exchange(published: Snapshot): boolean {
    const due = this.#variant.next(this.revisions.choose(published, this.#variant.held));
    if (due === undefined) return false;
    this.responses += 1;
    const nonce = String(this.responses);
    due.sent(nonce);
    const refused = this.#contentsIn(Buffer.concat(due.pieces)).find((content) => this.image.refuses.includes(content));
    const error = this.image.names ? `${refused?.split("=", 1)[0]}: cannot load it` : "cannot load something";
    if (refused === undefined) this.#version = due.version;
    const meaning = this.#request(nonce, refused === undefined ? undefined : error);
    if (meaning.kind === "ack") this.revisions.ack();
    if (meaning.kind === "nack") this.revisions.nack(meaning.sent, meaning.message);
    return true;
  }

  #request(responseNonce = "", error?: string): Meaning {
    const fields = { responseNonce, ...(error !== undefined && { errorDetail: { code: 0, message: error } }) };
    const request = this.#isIncremental
      ? create(DeltaDiscoveryRequestSchema, fields)
      : create(DiscoveryRequestSchema, { ...fields, versionInfo: this.#version });
    return this.#variant.receive(request);
  }

  #contentsIn(bytes: Buffer): readonly string[] {
    const values = this.#isIncremental
      ? fromBinary(DeltaDiscoveryResponseSchema, bytes).resources.map(({ resource }) => resource!.value)
      : fromBinary(DiscoveryResponseSchema, bytes).resources.map(({ value }) => value);
    return values.flatMap((value) => fromBinary(RateLimitConfigSchema, value).descriptors.map(({ key }) => key));
  }

  refuses(revision: Revision): boolean {
    return this.image.refuses.includes(CONTENT_OF.get(revision.digest)!);
  }

  get acked(): SentRevisions | undefined {
    return this.#variant.held;
  }
}

/** A replica and its pods, after the steps and at rest. */
class Replica {
  readonly history = new RevisionHistory();
  readonly pods: Pod[] = [];
  readonly isIncremental: boolean;
  nowMs = 0;
  readonly #present = new Map<string, Revision>();
  published = new Snapshot([]);

  constructor(isIncremental: boolean, history: readonly Step[]) {
    this.isIncremental = isIncremental;
    for (const step of history) this.#take(step);
    for (let seconds = 0, isMoving = true; isMoving; seconds += 1) {
      // Each of 14 resources may be tried by itself, in each of its kept revisions.
      expect(seconds, "it comes to rest").toBeLessThan(14 * 7);
      isMoving =
        this.pods.filter((pod) => this.#settle(pod)).length > 0 ||
        this.pods.some(({ revisions }) => revisions.nextTrialMs);
      this.nowMs += 1000;
    }
  }

  #settle(pod: Pod): boolean {
    const before = pod.responses;
    while (pod.exchange(this.published)) expect(pod.responses - before, "there is no cycle").toBeLessThan(14 * 7);
    return pod.responses > before;
  }

  #take(step: Step): void {
    switch (step.kind) {
      case "edit":
        this.#present.set(step.name, revision(step));
        this.#publish();
        break;
      case "delete":
        this.#present.delete(step.name);
        this.#publish();
        break;
      case "connect":
        this.pods.push(new Pod(step.image, this));
        break;
      case "disconnect":
        this.pods.splice(step.pod % Math.max(1, this.pods.length), 1);
        break;
      case "answer":
        this.pods[step.pod % Math.max(1, this.pods.length)]?.exchange(this.published);
    }
  }

  #publish(): void {
    const revisions = [...this.#present.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
    const isLoaded = ({ name, digest }: Revision): boolean =>
      this.pods.some(({ acked }) => acked?.snapshot.get(name)?.digest === digest);
    this.history.update(revisions, { ...NOTHING_KNOWN, isLoaded });
    this.published = new Snapshot(revisions);
  }
}

/** Returns true if an incremental pod NACKs what is published, and has kept an earlier revision that it accepts. */
function keepsOwn(pod: Pod, served: Revision | undefined, { published }: Replica): boolean {
  const current = served && published.get(served.name);
  if (served === undefined || current === undefined) return false;
  return pod.refuses(current) && !pod.refuses(served) && served.identity === current.identity;
}

describe.each([
  { variant: "state-of-the-world", isIncremental: false },
  { variant: "incremental", isIncremental: true },
])("What pods of the $variant variant are sent, at rest", ({ isIncremental }) => {
  it("cases A1 and A9: is of each resource the newest kept revision that the pod accepts, or one that it had, whatever other pods answer", () => {
    fc.assert(
      fc.property(steps(fc.constant(true)), (history) => {
        const replica = new Replica(isIncremental, history);
        for (const pod of replica.pods) {
          const expected = replica.published.revisions.flatMap(
            ({ name }) => replica.history.revisionsOf(name).find((each) => !pod.refuses(each)) ?? [],
          );
          const loaded = new Map(pod.acked?.snapshot.revisions.map((each) => [each.name, each]));
          for (const { name, digest, sequence } of expected) {
            const served = loaded.get(name);
            // A newer one than is kept may be in what the pod ACKed last.
            const isNewest = served?.digest === digest || (served?.sequence ?? -1) > sequence;
            expect(isNewest || (isIncremental && keepsOwn(pod, served, replica)), name).toBe(true);
          }
          for (const name of loaded.keys()) expect(replica.published.get(name), name).toBeDefined();
        }
      }),
      { numRuns: 300, seed: 31 },
    );
  });

  it("stops also for pods whose NACKs name nothing, and a pod that accepts everything has everything", () => {
    fc.assert(
      fc.property(steps(fc.boolean()), (history) => {
        const replica = new Replica(isIncremental, [
          ...history,
          { kind: "connect", image: { refuses: [], names: true } },
        ]);
        expect(replica.pods.at(-1)?.acked?.snapshot.version).toBe(replica.published.version);
      }),
      { numRuns: 300, seed: 32 },
    );
  });
});
