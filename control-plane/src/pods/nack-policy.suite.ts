// A replica without sockets for tests of the quarantine: what is wanted in the hands of the test,
// real streams, and pods that load what they like. Only tests import it.
import { fromBinary } from "@bufbuild/protobuf";
import {
  type DiscoveryResponse,
  DiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";

import { FakeAdsStream, type SnapshotsOfTest } from "../ads/stream/fake-ads-stream.suite.ts";
import type { PodStream } from "../ads/stream/pod-stream.ts";
import { SendSemaphore } from "../ads/stream/send-semaphore.ts";
import { translateResources } from "../assemble/translate-resources.ts";
import { type ManifestText, stateOfManifests } from "../assemble/manifests.suite.ts";
import {
  type FleetPublication,
  type Publication,
  publicationFor,
  publish,
  UNPUBLISHED,
} from "../snapshot/publication.ts";
import { buildSnapshots, type Snapshot, type SnapshotSet } from "../snapshot/snapshot.ts";
import { PodRegistry } from "./pod-registry.ts";
import { NackPolicy } from "./nack-policy.ts";

/** What a pod loads of a resource: `<namespace>/<name>=<requests per unit of its first rule>`. */
export type Content = string;

/** Which contents a pod rejects, and whether it says which. */
export interface Policy {
  readonly rejects: (content: Content) => boolean;
  /**
   * `named`: with the name of the first one, as the data planes do; `unnamed`: with a text that
   * names nothing; `silent`: it never answers.
   */
  readonly answers: "named" | "unnamed" | "silent";
}

/** A pod that loads everything. */
export const ACCEPTS_ALL: Policy = { rejects: () => false, answers: "named" };

/** A pod that rejects these contents and says so. */
export function rejecting(...contents: readonly Content[]): Policy {
  return { rejects: (content) => contents.includes(content), answers: "named" };
}

/** A pod with a policy. It answers only when the test lets it. */
export class PolicyPod {
  readonly stream: FakeAdsStream;
  readonly policy: Policy;
  /** What it has active. */
  loaded: readonly Content[] = [];
  acceptedVersion = "";
  #answeredResponses = 0;

  constructor(stream: FakeAdsStream, policy: Policy) {
    this.stream = stream;
    this.policy = policy;
  }

  /** Whether there is a response that it has not answered, and would. */
  get isAsked(): boolean {
    return this.policy.answers !== "silent" && this.stream.responses.length > this.#answeredResponses;
  }

  /** The contents that it was sent last. */
  get sent(): readonly Content[] {
    return contentsIn(this.stream.last);
  }

  /** The contents of each response. */
  get everSent(): readonly (readonly Content[])[] {
    return this.stream.responses.map(contentsIn);
  }

  /** Answers the last response. */
  answer(): void {
    this.#answeredResponses = this.stream.responses.length;
    const contents = this.sent;
    const bad = contents.find((content) => this.policy.rejects(content));
    if (bad === undefined) {
      this.loaded = contents;
      this.acceptedVersion = this.stream.last.versionInfo;
      this.stream.accept();
    } else {
      const text =
        this.policy.answers === "unnamed" ? "out of memory" : `${bad.split("=", 1)[0] ?? ""}: cannot load it`;
      this.stream.reject(text, this.acceptedVersion);
    }
  }
}

/** A replica. */
export class NackPolicyFixture implements SnapshotsOfTest {
  readonly semaphore = new SendSemaphore();
  readonly nackPolicy: NackPolicy;
  readonly registry = new PodRegistry({ clock: () => this.nowMs });
  nowMs = 1_000_000;
  pods: PolicyPod[] = [];
  /** How often other content came into force. */
  publications = 0;
  #connections = 0;
  #publication: Publication = UNPUBLISHED;
  #wanted: SnapshotSet = buildSnapshots(translateResources(stateOfManifests()));
  readonly #streams = new Set<PodStream>();
  readonly #snapshotMaxBytes: number;

  constructor(snapshotMaxBytes = 1_000_000) {
    this.#snapshotMaxBytes = snapshotMaxBytes;
    this.nackPolicy = new NackPolicy({ clock: () => this.nowMs }, { snapshotMaxBytes });
    this.nackPolicy.onChanged(() => this.#publish());
  }

  /** Wants these resources, and no others. */
  want(...manifests: readonly ManifestText[]): void {
    this.#wanted = buildSnapshots(translateResources(stateOfManifests(...manifests)));
    this.#publish();
  }

  /** The version that is wanted for the fleets that no resource names. */
  get wantedVersion(): string {
    return this.#wanted.others.version;
  }

  /** Connects a pod; `version` is what it says to have, as one that comes back does. */
  connect(policy: Policy = ACCEPTS_ALL, nodeId = `pod-${this.#connections}`, fleet = "any", version = ""): PolicyPod {
    this.#connections += 1;
    const stream = new FakeAdsStream(this, this.registry, this.nackPolicy);
    // Every connection has a port of its own, also that of a pod that comes back.
    stream.peer = `192.0.2.1:${40_000 + this.#connections}`;
    const pod = new PolicyPod(stream, policy);
    this.pods.push(pod);
    stream.request({ node: { id: nodeId, metadata: { fleet } }, version });
    return pod;
  }

  disconnect(pod: PolicyPod): void {
    pod.stream.close();
    this.pods = this.pods.filter((candidate) => candidate !== pod);
  }

  /**
   * Lets pods answer until nobody is asked any more; gives the number of answers, and fails beyond
   * `max`.
   */
  settle(max = 1000): number {
    for (let answers = 0; ; answers += 1) {
      const asked = this.pods.find((pod) => pod.isAsked);
      if (asked === undefined) return answers;
      if (answers >= max) throw new Error(`Not at rest after ${max} answers`);
      asked.answer();
    }
  }

  inForce(fleet = "any"): FleetPublication | undefined {
    return publicationFor(this.#publication, fleet);
  }

  snapshotFor(fleet: string): Snapshot | undefined {
    return this.inForce(fleet)?.snapshot;
  }

  join(stream: PodStream): void {
    this.#streams.add(stream);
  }

  #publish(): void {
    const before = this.#publication;
    const options = { snapshotMaxBytes: this.#snapshotMaxBytes, allowEmptyAfterMs: 0 };
    this.#publication = publish(before, this.nackPolicy.apply(this.#wanted), this.nowMs, options);
    if (publicationFor(before, "any")?.snapshot !== this.snapshotFor("any")) this.publications += 1;
    for (const stream of this.#streams) stream.published();
  }
}

/** The contents of a snapshot, as a pod loads them. */
export function contentsOf(snapshot: Snapshot | undefined): readonly Content[] {
  return snapshot === undefined ? [] : contentsIn(fromBinary(DiscoveryResponseSchema, snapshot.body));
}

function contentsIn(response: DiscoveryResponse): readonly Content[] {
  return response.resources.map(({ value }) => {
    const { name, descriptors } = fromBinary(RateLimitConfigSchema, value);
    return `${name}=${descriptors[0]?.rateLimit?.requestsPerUnit ?? 0}`;
  });
}
