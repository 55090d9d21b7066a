// Broken input on every listener of the real service, the same at every run (`make fuzz` draws
// others): the process lives, answers, and complains of nothing.
import { afterEach, describe, expect, it } from "vitest";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import { fuzzListener } from "./fuzz-listener.suite.ts";
import { type FuzzedService, type GrpcKind, startFuzzedService } from "./fuzzed-service.suite.ts";
import { Random } from "@weir/harness/processes/random";

const ROUNDS = 4;

/** Most memory of the process while it is fed, in bytes: it starts with about 120 MiB. */
const RSS_MAX_BYTES = 512 * 1024 * 1024;

/** The listeners of each run: the gRPC listener and one other. */
const RUNS: readonly { readonly grpc: GrpcKind; readonly other: string; readonly seed: number }[] = [
  { grpc: "plain", other: "HTTP", seed: 1 },
  { grpc: "tls", other: "debug", seed: 5 },
  { grpc: "unix", other: "statistics", seed: 3 },
];

/**
 * Runs `inputs` per listener; `afterwards` checks what is left, given the sockets that were open
 * before. One run may take `timeoutMs`.
 */
export function describeBrokenInput(
  inputs: number,
  timeoutMs: number,
  afterwards?: (service: FuzzedService, socketsBefore: number) => Promise<void>,
): void {
  describe("weir-ratelimit under broken input", () => {
    let folder: ReturnType<typeof makeTemporaryFolder> | undefined;
    let service: FuzzedService | undefined;

    afterEach(() => {
      service?.program.kill();
      folder?.remove();
    });

    it.each(RUNS)(
      `lives and answers when gRPC ($grpc) and $other get ${inputs.toLocaleString("en")} broken inputs each`,
      async ({ grpc, other, seed }) => {
        folder = makeTemporaryFolder();
        service = await startFuzzedService(folder.path, grpc);
        const { targets } = service;
        const { pid } = service.program;
        const socketsBefore = service.openSockets();
        const random = new Random(seed);
        const fed = targets
          .filter(({ name, speaks }) => speaks === "grpc" || name === other)
          .map((target) => ({ target, random: random.fork(), totals: { inputs: 0, bytes: 0, connections: 0 } }));
        expect(fed).toHaveLength(2);
        for (let round = 0; round < ROUNDS; round++) {
          await Promise.all(fed.map((each) => fuzzListener(each.target, each.random, inputs / ROUNDS, each.totals)));
          await service.assertAnswers();
          expect(service.rssBytes()).toBeLessThan(RSS_MAX_BYTES);
        }
        expect(service.complaints()).toEqual([]);
        await afterwards?.(service, socketsBefore);
        expect(service.program.pid).toBe(pid);
        for (const { totals } of fed) expect(totals.inputs).toBeGreaterThanOrEqual(inputs);
        expect(await service.stop()).toBe(0);
      },
      timeoutMs,
    );
  });
}
