// A pod of tests: one ADS stream over mutual TLS that ACKs or NACKs. Only tests import it.
import { create, fromBinary, type MessageInitShape } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { clientContext } from "@weir/common/tls/client-context";
import type { TlsMaterial } from "@weir/common/tls/tls-material";
import { AggregatedDiscoveryService } from "@weir/proto/generated/envoy/service/discovery/v3/ads_pb";
import { DiscoveryRequestSchema } from "@weir/proto/generated/envoy/service/discovery/v3/discovery_pb";
import { RateLimitConfigSchema } from "@weir/proto/generated/ratelimit/config/ratelimit/v3/rls_conf_pb";
import { RATE_LIMIT_CONFIG_TYPE_URL } from "@weir/proto/grpc/type-url";

/** How a pod answers. */
export interface PodScript {
  /** `<fleet>/<name>`. */
  readonly nodeId: string;
  readonly port: number;
  readonly tls: TlsMaterial;
  /** Domain of resources that it NACKs; undefined: it ACKs all. */
  readonly rejects?: string | undefined;
}

/** A pod that is connected until it is closed. */
export class ScriptedPod {
  readonly #end = new AbortController();
  readonly #script: PodScript;
  readonly #requests: Requests = new Requests();
  #acked = "";

  constructor(script: PodScript) {
    this.#script = script;
    void this.#run().catch(() => undefined); // A test sees its result in statuses.
  }

  close(): void {
    this.#end.abort();
    this.#requests.end();
  }

  async #run(): Promise<void> {
    const { nodeId, port, tls, rejects } = this.#script;
    const transport = createGrpcTransport({
      baseUrl: `https://127.0.0.1:${port}`,
      nodeOptions: { secureContext: clientContext(tls), servername: "localhost" },
      idleConnectionTimeoutMs: 1,
    });
    this.#requests.add({ node: { id: nodeId } });
    const client = createClient(AggregatedDiscoveryService, transport);
    const responses = client.streamAggregatedResources(this.#requests, { signal: this.#end.signal });
    for await (const { nonce, versionInfo, resources } of responses) {
      const configs = resources.map(({ value }) => fromBinary(RateLimitConfigSchema, value));
      const rejected = configs.find(({ domain }) => domain === rejects);
      if (rejected === undefined) this.#acked = versionInfo;
      const errorDetail = { code: 3, message: `${rejected?.name}: no such unit` };
      this.#requests.add({
        responseNonce: nonce,
        versionInfo: this.#acked,
        ...(rejected !== undefined && { errorDetail }),
      });
    }
  }
}

/** Requests in the order in which they are added. */
class Requests implements AsyncIterable<MessageInitShape<typeof DiscoveryRequestSchema>> {
  readonly #queue: MessageInitShape<typeof DiscoveryRequestSchema>[] = [];
  #wake: (() => void) | undefined;
  #isEnded = false;

  add(fields: Omit<MessageInitShape<typeof DiscoveryRequestSchema>, "$typeName" | "$unknown">): void {
    this.#queue.push(create(DiscoveryRequestSchema, { typeUrl: RATE_LIMIT_CONFIG_TYPE_URL, ...fields }));
    this.#wake?.();
  }

  end(): void {
    this.#isEnded = true;
    this.#wake?.();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<MessageInitShape<typeof DiscoveryRequestSchema>> {
    while (!this.#isEnded) {
      const next = this.#queue.shift();
      if (next !== undefined) yield next;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }
}
