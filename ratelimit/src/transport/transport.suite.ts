// The behaviour of every transport, tested over its wire with a real client.
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Tracing } from "@weir/common/tracing/tracing";
import type {
  RateLimitRequestSchema,
  RateLimitResponse,
} from "@weir/proto/generated/envoy/service/ratelimit/v3/rls_pb";
import { afterEach, describe, expect, it } from "vitest";
import type { GrpcStatusName } from "@weir/http2/grpc/status";

import { DecideError, type Decider, type DecisionCall } from "../decide/decider.ts";
import type { Decision } from "../decide/decision.ts";
import type { RateLimitRequest } from "../decide/request.ts";
import type { DecideErrorCode } from "../errors.ts";
import type { Transport } from "./transport.ts";

/** The answer that a client got. */
export type TransportAnswer =
  | { readonly kind: "decision"; readonly response: RateLimitResponse }
  | { readonly kind: "refused"; readonly status: GrpcStatusName; readonly message: string }
  | { readonly kind: "broken" };

/** A request as a client writes it. */
export type ClientRequest = MessageInitShape<typeof RateLimitRequestSchema>;

/** A transport that listens on a free port, and a client of it. */
export interface TransportFixture {
  readonly transport: Transport;
  /** Asks over a connection that is kept between calls. */
  ask(request: ClientRequest): Promise<TransportAnswer>;
  /** Closes the client. */
  close(): void;
}

/** OK for one descriptor without a rule. */
export const PLAIN_OK: Decision = {
  overallCode: 1,
  statuses: [{ code: 1, currentLimit: undefined, limitRemaining: 0, durationUntilResetSeconds: undefined }],
  headers: undefined,
  dynamicMetadata: undefined,
};

/** Tracing that is off. */
export const NO_TRACING: Tracing = {
  tracer: undefined,
  extract: undefined,
  inject: undefined,
  stop: () => Promise.resolve(),
};

/** A request of one entry. */
export const PLAIN_REQUEST: ClientRequest = { domain: "d", descriptors: [{ entries: [{ key: "k", value: "v" }] }] };

/** Keeps calls until the test answers them, or answers immediately. */
export class ScriptedDecider implements Decider {
  readonly calls: { readonly request: RateLimitRequest; readonly call: DecisionCall }[] = [];
  /** The immediate answer to every call; undefined keeps it waiting. */
  answer: Decision | DecideError | undefined = PLAIN_OK;
  #arrived = Promise.withResolvers<void>();

  decide(request: RateLimitRequest, call: DecisionCall): void {
    this.calls.push({ request, call });
    if (this.answer instanceof DecideError) call.failed(this.answer);
    else if (this.answer !== undefined) call.decided(this.answer);
    const { resolve } = this.#arrived;
    this.#arrived = Promise.withResolvers<void>();
    resolve();
  }

  /** Resolves when so many calls have arrived. */
  async arrived(count: number): Promise<void> {
    while (this.calls.length < count) await this.#arrived.promise;
  }
}

/** Runs the suite. `open` starts a transport over the decider and connects a client. */
export function describeTransport(what: string, open: (decider: Decider) => Promise<TransportFixture>): void {
  describe(`${what} as a Transport`, () => {
    let fixture: TransportFixture | undefined;
    afterEach(async () => {
      fixture?.close();
      await fixture?.transport.stop();
      fixture = undefined;
    });

    /** Starts it over a decider that gives every call this answer, or lets it wait. */
    async function start(answer: Decision | DecideError | "waits" = PLAIN_OK) {
      const decider = new ScriptedDecider();
      decider.answer = answer === "waits" ? undefined : answer;
      fixture = await open(decider);
      return { ...fixture, decider };
    }

    it("a request reaches the decider with all its fields", async () => {
      const { ask, decider } = await start();
      const sent = { domain: "mongo_cps", hitsAddend: 7 };
      const plain = {
        entries: [
          { key: "k", value: "v" },
          { key: "ключ", value: "" },
        ],
      };
      const full = {
        entries: [{ key: "a", value: "b" }],
        limit: { requestsPerUnit: 42, unit: 3 as const, unitMultiplier: 15 },
        isNegativeHits: true,
      };
      await ask({ ...sent, descriptors: [plain, { ...full, hitsAddend: 0n }] });
      const request = decider.calls[0]?.request;
      expect(request).toMatchObject({ ...sent, descriptors: [plain, full] });
      expect(Number(request?.descriptors[1]?.hitsAddend)).toBe(0);
      expect(request?.descriptors[0]?.limit).toBeUndefined();
      expect(request?.descriptors[0]?.hitsAddend).toBeUndefined();
    });

    it("a decision reaches the client with all its fields", async () => {
      const { ask } = await start({
        overallCode: 2,
        statuses: [
          {
            code: 2,
            currentLimit: { requestsPerUnit: 1, unit: 2, name: "first" },
            limitRemaining: 0,
            durationUntilResetSeconds: 35,
          },
          {
            code: 1,
            currentLimit: { requestsPerUnit: 4294967295, unit: 7, name: "" },
            limitRemaining: 9,
            durationUntilResetSeconds: 604800,
          },
          { code: 1, currentLimit: undefined, limitRemaining: 4294967295, durationUntilResetSeconds: undefined },
          { code: 1, currentLimit: undefined, limitRemaining: 0, durationUntilResetSeconds: undefined },
        ],
        headers: [
          { key: "RateLimit-Limit", value: "1" },
          { key: "RateLimit-Remaining", value: "0" },
        ],
        dynamicMetadata: { domain: "d", hitsAddend: 5, metadata: { name: "service_1", tiers: [1, null, true] } },
      });
      const answer = await ask(PLAIN_REQUEST);
      expect(answer).toMatchObject({
        kind: "decision",
        response: {
          overallCode: 2,
          statuses: [
            {
              code: 2,
              currentLimit: { requestsPerUnit: 1, unit: 2, name: "first" },
              limitRemaining: 0,
              durationUntilReset: { seconds: 35n },
            },
            {
              code: 1,
              currentLimit: { requestsPerUnit: 4294967295, unit: 7, name: "" },
              limitRemaining: 9,
              durationUntilReset: { seconds: 604800n },
            },
            { code: 1, limitRemaining: 4294967295 },
            { code: 1, limitRemaining: 0 },
          ],
          responseHeadersToAdd: [
            { key: "RateLimit-Limit", value: "1" },
            { key: "RateLimit-Remaining", value: "0" },
          ],
          dynamicMetadata: { domain: "d", hitsAddend: 5, metadata: { name: "service_1", tiers: [1, null, true] } },
        },
      });
      const statuses = answer.kind === "decision" ? answer.response.statuses : [];
      expect(statuses[3]?.currentLimit).toBeUndefined();
      expect(statuses[3]?.durationUntilReset).toBeUndefined();
    });

    it.each<[DecideErrorCode, GrpcStatusName]>([
      ["REQUEST_INVALID", "INVALID_ARGUMENT"],
      ["NO_CONFIG", "UNAVAILABLE"],
      ["STORE_UNAVAILABLE", "UNAVAILABLE"],
      ["DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"],
      ["INTERNAL", "INTERNAL"],
    ])(
      "a call that failed with %s is answered with %s and the message (cases 152 to 155, 169)",
      async (code, status) => {
        const { ask } = await start(new DecideError(code, "cannot decide: näher steht es hier"));
        expect(await ask(PLAIN_REQUEST)).toEqual({
          kind: "refused",
          status,
          message: "cannot decide: näher steht es hier",
        });
      },
    );

    it("calls are answered in whatever order they are decided", async () => {
      const { ask, decider } = await start("waits");
      const answers = [1, 2, 3].map((hitsAddend) => ask({ ...PLAIN_REQUEST, hitsAddend }));
      await decider.arrived(3);
      for (const { request, call } of [...decider.calls].reverse()) {
        const status = {
          code: 1,
          currentLimit: undefined,
          limitRemaining: request.hitsAddend,
          durationUntilResetSeconds: undefined,
        } as const;
        call.decided({ ...PLAIN_OK, statuses: [status] });
      }
      expect(
        (await Promise.all(answers)).map((answer) =>
          answer.kind === "decision" ? answer.response.statuses[0]?.limitRemaining : answer,
        ),
      ).toEqual([1, 2, 3]);
    });

    it("drain() waits for running calls and takes no new ones", async () => {
      const { ask, decider, transport } = await start("waits");
      const running = ask(PLAIN_REQUEST);
      await decider.arrived(1);
      decider.answer = PLAIN_OK;
      let isDrained = false;
      const drained = transport.drain().then(() => {
        isDrained = true;
      });
      // A call that was sent before the client knew may still be answered.
      await expect.poll(async () => (await ask(PLAIN_REQUEST)).kind, { timeout: 30_000 }).not.toBe("decision");
      expect(isDrained).toBe(false);
      decider.calls[0]?.call.decided(PLAIN_OK);
      expect((await running).kind).toBe("decision");
      await drained;
    });

    it("drain() resolves when nothing runs, and again when asked again", async () => {
      const { ask, transport } = await start();
      await ask(PLAIN_REQUEST);
      await transport.drain();
      await transport.drain();
    });

    it("stop() ends running calls", async () => {
      const { ask, decider, transport } = await start("waits");
      const running = ask(PLAIN_REQUEST);
      await decider.arrived(1);
      await transport.stop();
      expect((await running).kind).not.toBe("decision");
      // The backend answers after the client has gone.
      decider.calls[0]?.call.decided(PLAIN_OK);
    });

    it("address() is the listen address", async () => {
      const { transport } = await start();
      expect(transport.address()).toMatch(/^127\.0\.0\.1:\d+$/);
    });
  });
}
