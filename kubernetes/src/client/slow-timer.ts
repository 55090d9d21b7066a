// Reports a request that has no answer after a while, long before it fails.
import type { ApiRequest } from "./api-failure.ts";
import { describeResource } from "./api-resource.ts";

/** A request that has no answer yet. */
export interface SlowRequest {
  /** The address of the server; undefined while there are no credentials, which may name it. */
  readonly server: string | undefined;
  /** For people. */
  readonly waitsFor: string;
  readonly waitedMs: number;
}

/** Runs from the construction until it is stopped or has reported. */
export class SlowTimer {
  /** The address of the server, when it is known. */
  server: string | undefined;
  readonly #timer: NodeJS.Timeout;

  constructor(request: ApiRequest, afterMs: number, report?: (request: ApiRequest, slow: SlowRequest) => void) {
    this.#timer = setTimeout(() => {
      const { server } = this;
      const answer = `the answer to ${request.verb} ${describeResource(request.resource)}`;
      report?.(request, { server, waitsFor: server === undefined ? "credentials" : answer, waitedMs: afterMs });
    }, afterMs);
  }

  /** There is an answer, or the request has failed. */
  stop(): void {
    clearTimeout(this.#timer);
  }
}
