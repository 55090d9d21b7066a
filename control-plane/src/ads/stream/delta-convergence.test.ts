// Property test of the incremental variant: random edits, removals, changes of owners, answers and reconnects. No
// response gives a domain two owners or takes its only one, and once events stop, pods have what they should.
import { create, fromBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { setVersion } from "@weir/proto/grpc/set-version";
import fc from "fast-check";
import { describe, expect, it } from "vitest";

import { PodRevisions } from "../../pods/pod-revisions.ts";
import { encodeResource } from "../../snapshot/response-bytes.ts";
import type { Revision } from "../../snapshot/revision.ts";
import { RevisionHistory } from "../../snapshot/revision-history.ts";
import { NOTHING_KNOWN, revisionOf } from "../../snapshot/revisions.suite.ts";
import { Snapshot } from "../../snapshot/snapshot.ts";
import { DeltaVariant } from "./delta.ts";

const NAMES = ["team/a", "team/b", "team/c", "other/d", "other/e", "other/f"];
const DOMAINS = ["one", "two", "three", "four", "five"];
const CONTENTS = [1, 2, 3];

/** Most exchanges until a pod is at rest. */
const EXCHANGES_MAX = 100;

interface Image {
  /** Contents that it NACKs. */
  readonly refuses: readonly number[];
  /** True if its NACKs name the resource. */
  readonly names: boolean;
}

type Step =
  | { readonly kind: "edit"; readonly name: string; readonly content: number; readonly domain: string }
  | { readonly kind: "delete"; readonly name: string }
  | { readonly kind: "connect"; readonly image: Image }
  | { readonly kind: "reconnect" | "answer"; readonly pod: number };

function steps(image: fc.Arbitrary<Image>): fc.Arbitrary<readonly Step[]> {
  const name = fc.constantFrom(...NAMES);
  const content = fc.constantFrom(...CONTENTS);
  const domain = fc.constantFrom(...DOMAINS);
  const pod = fc.nat({ max: 9 });
  return fc.array(
    fc.oneof(
      { weight: 6, arbitrary: fc.record({ kind: fc.constant("edit" as const), name, content, domain }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("delete" as const), name }) },
      { weight: 2, arbitrary: fc.record({ kind: fc.constant("connect" as const), image }) },
      { weight: 1, arbitrary: fc.record({ kind: fc.constant("reconnect" as const), pod }) },
      { weight: 8, arbitrary: fc.record({ kind: fc.constant("answer" as const), pod }) },
    ),
    { minLength: 5, maxLength: 80 },
  );
}

function revision(name: string, content: number, domain: string): Revision {
  const bytes = encodeResource(
    create(RateLimitConfigSchema, {
      name,
      domain,
      descriptors: [{ key: "k", rateLimit: { requestsPerUnit: content } }],
    }),
  );
  return { ...revisionOf({ name, content: `${content} of ${domain}`, identity: domain }), domain, bytes };
}

interface Held {
  readonly version: string;
  readonly domain: string;
}

/** A pod, and its stream. */
class Pod {
  held: ReadonlyMap<string, Held> = new Map();
  readonly #image: Image;
  readonly #revisionsOf: (name: string) => readonly Revision[];
  #revisions!: PodRevisions;
  #variant!: DeltaVariant;
  #nonces = 0;

  constructor(image: Image, revisionsOf: (name: string) => readonly Revision[]) {
    this.#image = image;
    this.#revisionsOf = revisionsOf;
    this.connect();
  }

  /** Opens a stream with what it holds. */
  connect(): void {
    const deps = { revisionsOf: this.#revisionsOf, snapshotMaxBytes: Infinity };
    // Each of few resources of a namespace may be NACKed often: they are not tried one by one here.
    this.#revisions = new PodRevisions({ ...deps, clock: () => 0, isIncremental: true });
    this.#variant = new DeltaVariant({ ...deps, startResponseBytes: 600 });
    const versions = Array.from(this.held, ([name, { version }]) => [name, version] as const);
    this.#variant.receive(
      create(DeltaDiscoveryRequestSchema, { initialResourceVersions: Object.fromEntries(versions) }),
    );
  }

  choice(published: Snapshot): Snapshot {
    return this.#revisions.choose(published, this.#variant.held);
  }

  /** Receives what is due and answers it; returns whether anything was sent. */
  exchange(published: Snapshot): boolean {
    const choice = this.choice(published);
    const due = this.#variant.next(choice);
    if (due === undefined) return false;
    this.#nonces += 1;
    const responseNonce = String(this.#nonces);
    due.sent(responseNonce);
    const error = this.#load(Buffer.concat(due.pieces), choice);
    const errorDetail = error === undefined ? {} : { errorDetail: { code: 3, message: error } };
    const meaning = this.#variant.receive(create(DeltaDiscoveryRequestSchema, { responseNonce, ...errorDetail }));
    if (meaning.kind === "ack") this.#revisions.ack();
    if (meaning.kind === "nack") this.#revisions.nack(meaning.sent, meaning.message);
    return true;
  }

  /** Takes a response, or returns why not. */
  #load(bytes: Buffer, choice: Snapshot): string | undefined {
    const { resources, removedResources } = fromBinary(DeltaDiscoveryResponseSchema, bytes);
    const after = new Map(this.held);
    for (const name of removedResources) after.delete(name);
    for (const { name, version, resource } of resources) {
      const { domain, descriptors } = fromBinary(RateLimitConfigSchema, resource!.value);
      const { refuses, names } = this.#image;
      if (refuses.includes(descriptors[0]?.rateLimit?.requestsPerUnit ?? 0)) return names ? `${name}: no` : "no";
      after.set(name, { version, domain });
    }
    const domains = [...after.values()].map(({ domain }) => domain);
    expect(new Set(domains).size, "no domain has two owners").toBe(domains.length);
    for (const { domain } of this.held.values()) {
      if (choice.revisions.some((each) => each.domain === domain))
        expect(domains, "no domain is lost").toContain(domain);
    }
    this.held = after;
    return undefined;
  }
}

/** A replica and its pods, after the steps and at rest. */
class Replica {
  readonly pods: Pod[] = [];
  published = new Snapshot([]);
  readonly #history = new RevisionHistory();
  readonly #present = new Map<string, Revision>();

  constructor(history: readonly Step[]) {
    for (const step of history) this.#take(step);
    for (const pod of this.pods)
      for (let exchanges = 0; pod.exchange(this.published); exchanges += 1)
        expect(exchanges, "it comes to rest").toBeLessThan(EXCHANGES_MAX);
  }

  #take(step: Step): void {
    switch (step.kind) {
      case "edit":
        this.#present.set(step.name, revision(step.name, step.content, step.domain));
        this.#publish();
        break;
      case "delete":
        this.#present.delete(step.name);
        this.#publish();
        break;
      case "connect":
        this.pods.push(new Pod(step.image, (name) => this.#history.revisionsOf(name)));
        break;
      case "reconnect":
        this.pods[step.pod % Math.max(1, this.pods.length)]?.connect();
        break;
      case "answer":
        this.pods[step.pod % Math.max(1, this.pods.length)]?.exchange(this.published);
    }
  }

  /** The first resource by name owns a domain. */
  #publish(): void {
    const sorted = [...this.#present.values()].toSorted((left, right) => (left.name < right.name ? -1 : 1));
    const owners = new Map(sorted.toReversed().map((each) => [each.domain, each]));
    const revisions = sorted.filter((each) => owners.get(each.domain) === each);
    this.#history.update(revisions, NOTHING_KNOWN);
    this.published = new Snapshot(revisions);
  }
}

function versionOf({ held }: Pod): string {
  return setVersion([...held.keys()].sort().map((name) => held.get(name)!.version));
}

describe("Pods of the incremental variant, at rest", () => {
  it("have everything, with one owner of each domain at all times, when they accept everything", () => {
    const accepts = fc.constant<Image>({ refuses: [], names: true });
    fc.assert(
      fc.property(steps(accepts), (history) => {
        const { pods, published } = new Replica(history);
        for (const pod of pods) expect(versionOf(pod)).toBe(published.version);
      }),
      { numRuns: 500, seed: 41 },
    );
  });

  it("case A19: have what is chosen for them when they NACK some contents by name", () => {
    const image = fc.record({ refuses: fc.subarray(CONTENTS, { maxLength: 2 }), names: fc.constant(true) });
    fc.assert(
      fc.property(steps(image), (history) => {
        const { pods, published } = new Replica(history);
        for (const pod of pods) expect(versionOf(pod)).toBe(pod.choice(published).version);
      }),
      { numRuns: 500, seed: 42 },
    );
  });

  it("are sent nothing more, and keep one owner of each domain, when their NACKs name nothing", () => {
    const image = fc.record({ refuses: fc.subarray(CONTENTS, { maxLength: 2 }), names: fc.constant(false) });
    fc.assert(
      fc.property(steps(image), (history) => {
        const { pods, published } = new Replica(history);
        for (const pod of pods) expect(pod.exchange(published)).toBe(false);
      }),
      { numRuns: 500, seed: 43 },
    );
  });
});
