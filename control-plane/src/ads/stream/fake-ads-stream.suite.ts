// A pod at the other end of a stream without a network, for unit tests.
import { fromBinary } from "@bufbuild/protobuf";
import { PodEnd, requestOf, type RequestText } from "@weir/harness/ads/pod-end";
import { DiscoveryResponseSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { expect } from "vitest";

import { PodRegistry } from "../../pods/pod-registry.ts";
import type { Revision } from "../../snapshot/revision.ts";
import { RevisionHistory } from "../../snapshot/revision-history.ts";
import { NOTHING_KNOWN } from "../../snapshot/revisions.suite.ts";
import type { Publisher } from "../../snapshot/publisher.ts";
import type { Snapshot } from "../../snapshot/snapshot.ts";
import { type Log, silentLog } from "@weir/common/log/log";
import type { HeartbeatOptions } from "./heartbeat.ts";
import { type PodChannel, PodStream } from "./pod-stream.ts";
import type { StreamKind } from "./request-violation.ts";
import { SendSemaphore } from "./send-semaphore.ts";

/** The part of the publisher that streams have their snapshots from. */
export type PublisherOfStreams = Pick<Publisher, "snapshotFor" | "revisionsOf" | "onPublished">;

/** Publishes the snapshots of a test, and keeps earlier revisions as the real publisher does. */
export class FakePublisher implements PublisherOfStreams {
  readonly #byFleet = new Map<string, Snapshot>();
  readonly #history = new RevisionHistory();
  readonly #listeners = new Set<() => void>();

  constructor(...published: readonly Snapshot[]) {
    for (const snapshot of published) this.publish(snapshot);
  }

  get listeners(): number {
    return this.#listeners.size;
  }

  /** Publishes a snapshot for every pod, or for those of one fleet. */
  publish(snapshot: Snapshot, fleet = "*"): void {
    this.#byFleet.set(fleet, snapshot);
    const revisions = new Map(
      [...this.#byFleet.values()].flatMap(({ revisions: list }) =>
        list.map((revision) => [revision.name, revision] as const),
      ),
    );
    this.#history.update([...revisions.values()], NOTHING_KNOWN);
    for (const listener of this.#listeners) listener();
  }

  snapshotFor(fleet: string): Snapshot | undefined {
    return this.#byFleet.get(fleet) ?? this.#byFleet.get("*");
  }

  revisionsOf(name: string): readonly Revision[] {
    return this.#history.revisionsOf(name);
  }

  onPublished(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }
}

/** Counts what pods report, as the metrics do. */
export class AnswerCounts {
  pushes = 0;
  acknowledgements = 0;
  rejections = 0;

  constructor(pods: PodRegistry) {
    pods.onChanged(({ kind }) => {
      if (kind === "sent") this.pushes += 1;
      if (kind === "accepted") this.acknowledgements += 1;
      if (kind === "rejected") this.rejections += 1;
    });
  }
}

/** How a pod is connected. */
export interface FakeAdsStreamOptions {
  readonly pods?: PodRegistry;
  /** Shared by the streams of one test where they wait for each other. */
  readonly semaphore?: SendSemaphore;
  readonly kind?: StreamKind;
  readonly log?: Log;
  readonly clock?: () => number;
  readonly snapshotMaxBytes?: number;
  readonly heartbeat?: HeartbeatOptions;
}

/** A pod and its stream. */
export class FakeAdsStream extends PodEnd implements PodChannel {
  /** Its address; to be changed before the first request only. */
  peer = "192.0.2.1:4711";
  readonly counts: AnswerCounts;
  /** How long the pod had sent nothing when it was given up. */
  hungMs: number | undefined;
  /** How often the stream could be ended after the pod had nothing more to say. */
  ends = 0;
  readonly #stream: PodStream;
  /** Set while a response is under way to a pod that does not read. */
  #written: (() => void) | undefined;
  #isReading = true;
  #isClosed = false;

  constructor(
    publisher: PublisherOfStreams,
    {
      clock = () => 0,
      pods = new PodRegistry({ clock }),
      semaphore = new SendSemaphore(),
      kind = "aggregated",
      log = silentLog(),
      snapshotMaxBytes = 4_000_000,
      heartbeat,
    }: FakeAdsStreamOptions = {},
  ) {
    super();
    this.counts = new AnswerCounts(pods);
    const deps = { channel: this, publisher, pods, clock, semaphore, log };
    this.#stream = new PodStream(deps, { identifier: "replica-1", kind, snapshotMaxBytes, heartbeat });
    publisher.onPublished(() => this.#stream.published());
  }

  send(pieces: readonly Buffer[], written: () => void): void {
    expect(this.#isClosed, "nothing is sent after the end").toBe(false);
    const response = fromBinary(DiscoveryResponseSchema, Buffer.concat(pieces));
    expect(response.controlPlane?.identifier).toBe("replica-1");
    this.receive(response);
    if (response === this.heartbeats.at(-1)) return;
    expect(this.#written, "no configuration is sent while another one is under way").toBeUndefined();
    if (this.#isReading) written();
    else this.#written = written;
  }

  hung(waitedMs: number): void {
    this.hungMs = waitedMs;
    this.close();
  }

  request(text: RequestText = {}): string | undefined {
    return this.#stream.receive(requestOf(text));
  }

  /** Says that it has nothing more to say. */
  finish(): void {
    this.#stream.halfClosed(() => (this.ends += 1));
  }

  stopReading(): void {
    this.#isReading = false;
  }

  /** Reads what is under way, and from now on everything. */
  read(): void {
    this.#isReading = true;
    const written = this.#written;
    this.#written = undefined;
    written?.();
  }

  close(): void {
    this.#isClosed = true;
    this.#stream.ended();
  }
}
