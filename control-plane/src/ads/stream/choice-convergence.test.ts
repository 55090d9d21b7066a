// Property test of what pods are sent: random edits, connections, answers and losses of pods of random
// images. Once events stop, responses stop, and no pod lacks what it would accept.
import { create } from "@bufbuild/protobuf";
import { DiscoveryRequestSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { PodRevisions, type SentRevisions } from "../../pods/pod-revisions.ts";
import type { Revision } from "../../snapshot/revision.ts";
import { RevisionHistory } from "../../snapshot/revision-history.ts";
import { contentsOf, revisionOf } from "../../snapshot/revisions.suite.ts";
import { Snapshot } from "../../snapshot/snapshot.ts";
import { afterSending, NEW_TYPE, nextResponse, receiveRequest, type TypeState } from "./sotw.ts";

const NAMES = ["team/a", "team/b", "team/c", "other/d", ...Array.from({ length: 10 }, (_, index) => `crowd/${index}`)];
const CONTENTS = [1, 2, 3];

/** What an image of a pod cannot load, and whether its NACKs name the resource. */
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

/** A pod at the other end of a stream. */
class Pod {
  readonly image: Image;
  readonly revisions: PodRevisions;
  state: TypeState = receiveRequest(NEW_TYPE, create(DiscoveryRequestSchema)).state;
  responses = 0;

  constructor(image: Image, replica: Replica) {
    this.image = image;
    const revisionsOf = (name: string): readonly Revision[] => replica.history.revisionsOf(name);
    this.revisions = new PodRevisions({ revisionsOf, snapshotMaxBytes: Infinity, clock: () => replica.nowMs });
  }

  /** Sends what is due and takes the pod's answer; returns whether anything was sent. */
  exchange(published: Snapshot): boolean {
    const choice = this.revisions.choose(published, this.state.acked);
    if (!nextResponse(this.state, choice).send) return false;
    this.responses += 1;
    const nonce = String(this.responses);
    this.state = afterSending(this.state, choice, { nonce, names: undefined });
    const refused = choice.revisions.find((revision) => this.refuses(revision));
    const error = this.image.names ? `${refused?.name}: cannot load it` : "cannot load something";
    const answer =
      refused === undefined ? { versionInfo: choice.version } : { errorDetail: { code: 0, message: error } };
    const { state, meaning } = receiveRequest(
      this.state,
      create(DiscoveryRequestSchema, { responseNonce: nonce, ...answer }),
    );
    this.state = state;
    if (meaning.kind === "ack") this.revisions.ack();
    if (meaning.kind === "nack") this.revisions.nack(meaning.sent, meaning.message);
    return true;
  }

  refuses(revision: Revision): boolean {
    return this.image.refuses.includes(contentsOf([revision])[0] ?? "");
  }

  get acked(): SentRevisions | undefined {
    return this.state.acked;
  }
}

/** A replica and its pods, after the steps and at rest. */
class Replica {
  readonly history = new RevisionHistory();
  readonly pods: Pod[] = [];
  nowMs = 0;
  readonly #present = new Map<string, Revision>();
  published = new Snapshot([]);

  constructor(history: readonly Step[]) {
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
        this.#present.set(step.name, revisionOf(step));
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
    this.history.update(revisions, new Map(), isLoaded);
    this.published = new Snapshot(revisions);
  }
}

describe("What pods are sent, at rest", () => {
  it("cases A1 and A9: is of each resource the newest kept revision that the pod accepts, whatever other pods answer", () => {
    fc.assert(
      fc.property(steps(fc.constant(true)), (history) => {
        const replica = new Replica(history);
        for (const pod of replica.pods) {
          const expected = replica.published.revisions.flatMap(
            ({ name }) => replica.history.revisionsOf(name).find((revision) => !pod.refuses(revision)) ?? [],
          );
          const loaded = new Map(pod.acked?.snapshot.revisions.map((revision) => [revision.name, revision]));
          for (const revision of expected) {
            const served = loaded.get(revision.name);
            // A newer one than is kept may be in what the pod ACKed last.
            const isNewest = served?.digest === revision.digest || (served?.sequence ?? -1) > revision.sequence;
            expect(isNewest, revision.name).toBe(true);
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
        const replica = new Replica([...history, { kind: "connect", image: { refuses: [], names: true } }]);
        expect(replica.pods.at(-1)?.acked?.snapshot.version).toBe(replica.published.version);
      }),
      { numRuns: 300, seed: 32 },
    );
  });
});
