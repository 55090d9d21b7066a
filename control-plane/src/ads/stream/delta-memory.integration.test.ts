// Tests the memory that a pod of the incremental variant needs beyond what all pods share.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { create, fromBinary } from "@bufbuild/protobuf";
import {
  DeltaDiscoveryRequestSchema,
  DeltaDiscoveryResponseSchema,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { silentLog } from "@weir/common/log/log";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";
import { describe, expect, it } from "vitest";

import { PodRegistry } from "../../pods/pod-registry.ts";
import { snapshotOf } from "../../snapshot/snapshots-of.suite.ts";
import { FakePublisher } from "./fake-ads-stream.suite.ts";
import { PodStream } from "./pod-stream.ts";
import { SendSemaphore } from "./send-semaphore.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

const PODS = 1000;

async function heapBytes(): Promise<number> {
  await new Promise((resolve) => setImmediate(resolve)); // Weak references live until the end of a turn.
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

describe("PodStream in the incremental variant", () => {
  it.each([
    { what: "from the start", brings: false },
    { what: "with what it held on another stream", brings: true },
  ])("needs at most 4 KiB for a pod that has followed 1,205 resources $what", async ({ brings }) => {
    const texts = Array.from({ length: 1205 }, (_, index) => ({ name: `limits-${index}`, domain: `domain-${index}` }));
    const published = snapshotOf(...texts);
    const publisher = new FakePublisher(published);
    const pods = new PodRegistry({ clock: () => 0 });
    const semaphore = new SendSemaphore();
    const streams: PodStream[] = [];
    const open = (number: number): void => {
      const answers: string[] = [];
      const stream = new PodStream(
        {
          channel: {
            peer: "192.0.2.1:4711",
            hung: () => undefined,
            send: (pieces, written) => {
              answers.push(fromBinary(DeltaDiscoveryResponseSchema, Buffer.concat(pieces)).nonce);
              written();
            },
          },
          publisher,
          pods,
          clock: () => 0,
          semaphore,
          log: silentLog(),
        },
        { identifier: "replica-1", kind: "delta", snapshotMaxBytes: 4_000_000 },
      );
      const fields = { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, node: { id: `fleet/pod-${number}` } };
      const held = brings ? published.revisions.map(({ name, digest }) => [name, digest] as const) : [];
      stream.receive(
        create(DeltaDiscoveryRequestSchema, { ...fields, initialResourceVersions: Object.fromEntries(held) }),
      );
      for (let nonce = answers.shift(); nonce !== undefined; nonce = answers.shift())
        stream.receive(create(DeltaDiscoveryRequestSchema, { ...fields, responseNonce: nonce }));
      streams.push(stream);
    };
    open(0); // Allocates what all share.
    const before = await heapBytes();
    for (let number = 1; number <= PODS; number += 1) open(number);
    const bytes = ((await heapBytes()) - before) / PODS;
    expect(pods.list().every(({ accepted }) => accepted?.version === published.version)).toBe(true);
    expect(bytes).toBeLessThan(4096);
    for (const stream of streams) stream.ended();
  });
});
