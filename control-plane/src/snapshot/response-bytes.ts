// Serialises responses of both variants in pieces: head and resources, which streams share, then the fields of
// each stream. Protobuf allows fields in any order, and a message may be cut between any two.
import { toBinary } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import type { RateLimitConfig } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

/**
 * Field numbers of envoy.service.discovery.v3.DiscoveryResponse, of google.protobuf.Any and of
 * envoy.config.core.v3.ControlPlane.
 */
const RESPONSE = { versionInfo: 1, resources: 2, typeUrl: 4, nonce: 5, controlPlane: 6 } as const;
/** Of DeltaDiscoveryResponse where they differ: its system_version_info is number 1, too. */
const DELTA_RESPONSE = { removedResources: 6, controlPlane: 7 } as const;
/** Of envoy.service.discovery.v3.Resource, whose field 2 is the same Any as that of a DiscoveryResponse. */
const RESOURCE = { version: 1, name: 3 } as const;
const ANY = { typeUrl: 1, value: 2 } as const;
const CONTROL_PLANE = { identifier: 1 } as const;

/** One resource as a field of a response. */
export function encodeResource(message: RateLimitConfig): Buffer {
  const any = new BinaryWriter();
  any.tag(ANY.typeUrl, WireType.LengthDelimited).string(RATE_LIMIT_CONFIG_TYPE_URL);
  any.tag(ANY.value, WireType.LengthDelimited).bytes(toBinary(RateLimitConfigSchema, message));
  return bufferOf(new BinaryWriter().tag(RESPONSE.resources, WireType.LengthDelimited).bytes(any.finish()));
}

/** Version and type of a response. */
export function encodeHead(version: string, typeUrl = RATE_LIMIT_CONFIG_TYPE_URL): Buffer {
  const head = new BinaryWriter();
  head.tag(RESPONSE.versionInfo, WireType.LengthDelimited).string(version);
  head.tag(RESPONSE.typeUrl, WireType.LengthDelimited).string(typeUrl);
  return bufferOf(head);
}

/** A resource with its name and version; `bytes` is that of {@link encodeResource}. */
interface NamedResource {
  readonly name: string;
  readonly digest: string;
  readonly bytes: Buffer;
}

/** The bytes in front of resources, which the responses to all fleets share: to write them costs more than to join them. */
const deltaHeads = new WeakMap<NamedResource, Buffer>();

/** A resource as a field of a DeltaDiscoveryResponse. */
export function encodeDeltaResource(resource: NamedResource): readonly [head: Buffer, bytes: Buffer] {
  return [deltaHeads.getOrInsertComputed(resource, encodeDeltaHead), resource.bytes];
}

function encodeDeltaHead({ name, digest, bytes }: NamedResource): Buffer {
  const fields = new BinaryWriter();
  fields.tag(RESOURCE.name, WireType.LengthDelimited).string(name);
  fields.tag(RESOURCE.version, WireType.LengthDelimited).string(digest);
  const own = fields.finish();
  const prefix = new BinaryWriter().tag(RESPONSE.resources, WireType.LengthDelimited).uint32(own.length + bytes.length);
  return Buffer.concat([prefix.finish(), own]);
}

/** The removed resources of a DeltaDiscoveryResponse. */
export function encodeRemoved(names: readonly string[]): Buffer {
  const removed = new BinaryWriter();
  for (const name of names) removed.tag(DELTA_RESPONSE.removedResources, WireType.LengthDelimited).string(name);
  return bufferOf(removed);
}

/** Returns what encodes the fields of a response that one stream has: its nonce, and the name of the replica. */
export function tailEncoder(identifier: string, variant: "sotw" | "delta" = "sotw"): (nonce: number) => Buffer {
  const name = new BinaryWriter().tag(CONTROL_PLANE.identifier, WireType.LengthDelimited).string(identifier);
  const { controlPlane } = variant === "sotw" ? RESPONSE : DELTA_RESPONSE;
  const shared = new BinaryWriter().tag(controlPlane, WireType.LengthDelimited).bytes(name.finish()).finish();
  const nonceTag = (RESPONSE.nonce << 3) | WireType.LengthDelimited;
  // By hand: a writer for each of thousands of responses costs more than the rest of an edit.
  return (nonce) => {
    const text = String(nonce);
    return Buffer.concat([Buffer.from([nonceTag, text.length]), Buffer.from(text), shared]);
  };
}

function bufferOf(writer: BinaryWriter): Buffer {
  const bytes = writer.finish();
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
