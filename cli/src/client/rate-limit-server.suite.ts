// A rate limit service for tests of weir-client: records every call and returns what the test says.
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { type Metadata, Server, type ServerCredentials, type UntypedHandleCall } from "@grpc/grpc-js";
import {
  type RateLimitRequest,
  type RateLimitResponse,
  RateLimitResponseSchema,
  RateLimitService,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { serviceDefinition } from "@weir/proto/grpc/service-definition";

/** One call with its headers. */
interface ReceivedCall {
  readonly request: RateLimitRequest;
  readonly metadata: Metadata;
}

/** OK for one descriptor without a rule. */
const PLAIN_OK: MessageInitShape<typeof RateLimitResponseSchema> = { overallCode: 1, statuses: [{ code: 1 }] };

/** The server. */
export class RateLimitServer {
  readonly calls: ReceivedCall[] = [];
  /** The answer of every call; undefined leaves callers waiting. */
  answer: MessageInitShape<typeof RateLimitResponseSchema> | undefined = PLAIN_OK;
  readonly #server = new Server();

  /** Listens at `address` (host:port or unix:PATH) and returns the address that clients use. */
  async start(address: string, credentials: ServerCredentials): Promise<string> {
    const shouldRateLimit = (
      { request, metadata }: ReceivedCall,
      callback: (error: null, response: RateLimitResponse) => void,
    ): void => {
      this.calls.push({ request, metadata });
      if (this.answer !== undefined) callback(null, create(RateLimitResponseSchema, this.answer));
    };
    this.#server.addService(serviceDefinition(RateLimitService), {
      shouldRateLimit: shouldRateLimit as UntypedHandleCall,
    });
    const port = await new Promise<number>((resolve, reject) => {
      this.#server.bindAsync(address, credentials, (error, bound) => (error === null ? resolve(bound) : reject(error)));
    });
    return address.startsWith("unix:") ? address : `127.0.0.1:${port}`;
  }

  /** Ends every call and connection. */
  stop(): void {
    this.#server.forceShutdown();
  }
}
