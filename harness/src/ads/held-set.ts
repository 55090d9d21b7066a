// The set of resources that incremental pods hold. Pods that get the same responses share it with all that is computed
// of it, so that a thousand of them in one process are no bottleneck.
import { createHash } from "node:crypto";

import { fromBinary, toBinary, create } from "@bufbuild/protobuf";
import { BinaryReader } from "@bufbuild/protobuf/wire";
import {
  DeltaDiscoveryRequestSchema,
  type DeltaDiscoveryResponse,
  DeltaDiscoveryResponseSchema,
  type Resource,
} from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { setVersion } from "@weir/proto/grpc/set-version";

/** A response without its nonce, decoded once for all pods that get it. */
export interface SharedResponse {
  readonly response: Omit<DeltaDiscoveryResponse, "nonce">;
  /** The set that a pod holds once it has ACKed the response. */
  readonly after: HeldSet;
}

/** Resources by name; it does not change. */
export class HeldSet {
  /** Versions by name. */
  readonly versions: ReadonlyMap<string, string>;
  readonly resources: ReadonlyMap<string, Resource>;
  /** By their hash. Those after a set that was complete may be freed when no pod holds what follows. */
  readonly #responses = new Map<string, Pick<WeakRef<SharedResponse>, "deref">>();
  /** The response after which this is held. */
  #cause: SharedResponse | undefined;
  /** True if this set, or one before it, was complete. */
  #isStarted = false;
  #version: string | undefined;
  #request: Uint8Array | undefined;

  constructor(versions: ReadonlyMap<string, string>, resources: ReadonlyMap<string, Resource> = new Map()) {
    this.versions = versions;
    this.resources = resources;
  }

  /** The version of all of it. */
  get version(): string {
    this.#version ??= setVersion([...this.versions.keys()].sort().map((name) => this.versions.get(name)!));
    return this.#version;
  }

  /** True if it is all that a pod should hold, as the last response says. */
  get isComplete(): boolean {
    return this.version === this.#cause?.response.systemVersionInfo;
  }

  /** The part of a first request that names what is held. */
  get request(): Uint8Array {
    this.#request ??= toBinary(
      DeltaDiscoveryRequestSchema,
      create(DeltaDiscoveryRequestSchema, { initialResourceVersions: Object.fromEntries(this.versions) }),
    );
    return this.#request;
  }

  /** Takes a serialised response; returns its nonce and what all pods share of it. */
  receive(message: Buffer): { readonly nonce: string; readonly shared: SharedResponse } {
    const { nonce, rest } = splitNonce(message);
    const hash = createHash("sha1");
    for (const part of rest) hash.update(part);
    const key = hash.digest("base64");
    const known = this.#responses.get(key)?.deref();
    if (known !== undefined) return { nonce, shared: known };
    const response = fromBinary(DeltaDiscoveryResponseSchema, message);
    const [versions, resources] = [new Map(this.versions), new Map(this.resources)];
    for (const name of response.removedResources) for (const map of [versions, resources]) map.delete(name);
    for (const resource of response.resources) {
      versions.set(resource.name, resource.version);
      resources.set(resource.name, resource);
    }
    const after = new HeldSet(versions, resources);
    const shared: SharedResponse = { response, after };
    after.#cause = shared;
    after.#isStarted = this.#isStarted || after.isComplete;
    this.#responses.set(key, this.#isStarted ? new WeakRef(shared) : { deref: () => shared });
    return { nonce, shared };
  }
}

/** Pods that hold nothing. */
export const HOLDS_NOTHING = new HeldSet(new Map());

/** The nonce of a serialised response, and all bytes around it. */
function splitNonce(message: Buffer): { readonly nonce: string; readonly rest: readonly Buffer[] } {
  const { number } = DeltaDiscoveryResponseSchema.field.nonce;
  const reader = new BinaryReader(message);
  while (reader.pos < reader.len) {
    const start = reader.pos;
    const [field, wireType] = reader.tag();
    if (field === number)
      return { nonce: reader.string(), rest: [message.subarray(0, start), message.subarray(reader.pos)] };
    reader.skip(wireType, field);
  }
  return { nonce: "", rest: [message] };
}
