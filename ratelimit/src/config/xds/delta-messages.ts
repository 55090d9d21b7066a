// The resources that an xDS client of one type holds in the incremental variant, and the sets that
// responses make of them. Pure.
import type { DeltaDiscoveryResponse, Resource } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { lowerBound } from "@weir/common/order/sorted-differences";
import type { RateLimitConfigModel } from "@weir/limits/model/model";
import { setVersion, setVersionSteps } from "@weir/proto/grpc/set-version";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

import { decodeResource } from "./ads-messages.ts";

interface HeldResource {
  readonly name: string;
  readonly version: string;
  readonly config: RateLimitConfigModel;
}

/** The content of a response: the set that it leads to, an error in it, or another type of resource. */
export type DeltaContent =
  | { readonly kind: "configs"; readonly held: HeldResources }
  | { readonly kind: "invalid"; readonly reason: string }
  | { readonly kind: "foreign"; readonly typeUrl: string };

/** The resources of the active configuration. Immutable. */
export class HeldResources {
  /** Sorted by name. */
  readonly #resources: readonly HeldResource[];
  /** The hash of the resources' versions. */
  readonly version: string;

  constructor(resources: readonly HeldResource[] = [], version = setVersion([])) {
    this.#resources = resources;
    this.version = version;
  }

  get configs(): readonly RateLimitConfigModel[] {
    return this.#resources.map(({ config }) => config);
  }

  /** By name, for the first request of a stream. */
  get versions(): Readonly<Record<string, string>> {
    return Object.fromEntries(this.#resources.map(({ name, version }) => [name, version]));
  }

  /**
   * Returns the set after a response is applied to these resources, or why there is none, with a step
   * for each resource. One that is invalid makes the whole response invalid.
   */
  *afterSteps({ typeUrl, resources, removedResources }: DeltaDiscoveryResponse): Generator<undefined, DeltaContent> {
    if (typeUrl !== RATE_LIMIT_CONFIG_TYPE_URL && typeUrl !== "") return { kind: "foreign", typeUrl };
    const after = [...this.#resources];
    for (const name of removedResources) {
      const place = lowerBound(after, name, nameOf);
      if (after[place]?.name === name) after.splice(place, 1);
      yield;
    }
    for (const { name, version, resource } of resources) {
      const config = decode(resource);
      // The name first: it tells the server which resource the NACK is about.
      if (typeof config === "string") return { kind: "invalid", reason: `${name}: ${config}` };
      const place = lowerBound(after, name, nameOf);
      after.splice(place, after[place]?.name === name ? 1 : 0, { name, version, config });
      yield;
    }
    const version = yield* setVersionSteps(after.map((each) => each.version));
    return { kind: "configs", held: new HeldResources(after, version) };
  }
}

function nameOf({ name }: HeldResource): string {
  return name;
}

function decode(resource: Resource["resource"]): RateLimitConfigModel | string {
  return resource === undefined ? "it is an empty Resource" : decodeResource(resource);
}
