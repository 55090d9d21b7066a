// Broken input on every listener of the real service, 100,000 pieces each, the same at every run
// (`make fuzz` draws others): the process lives, answers, and keeps nothing of it.
import { afterEach, describe, expect, it } from "vitest";

import { eventually } from "@weir/testing/eventually";
import { makeTemporaryFolder } from "@weir/testing/temporary-folder";
import { fuzzListener, type FuzzTotals } from "./fuzz-listener.ts";
import { type FuzzedService, type GrpcKind, startFuzzedService } from "./fuzzed-service.ts";
import { Random } from "./random.ts";

const INPUTS = 100_000;
const ROUNDS = 4;

/**
 * Most memory that the process may have while it is fed, in bytes: it starts with about 120 MiB.
 */
const RSS_MAX_BYTES = 512 * 1024 * 1024;

/**
 * Longest time until a connection is found to be dead, in milliseconds: it is looked for every 25
 * s, after 50 s of silence.
 */
const GONE_TIMEOUT_MS = 150_000;

/**
 * A third of the whole takes 30 s on two cores; a machine that does much else may take ten times as
 * long.
 */
const TIMEOUT_MS = 600_000;

let folder: ReturnType<typeof makeTemporaryFolder> | undefined;
let service: FuzzedService | undefined;

afterEach(() => {
  service?.kill();
  folder?.remove();
});

function printed(text: string): void {
  process.stdout.write(`${text}\n`);
}

describe("weir-ratelimit under broken input", () => {
  it.each<{ grpc: GrpcKind; other: string; seed: number }>([
    { grpc: "plain", other: "HTTP", seed: 1 },
    { grpc: "tls", other: "debug", seed: 5 },
    { grpc: "unix", other: "statistics", seed: 3 },
  ])(
    "lives, answers and forgets when gRPC ($grpc) and $other get 100,000 broken inputs each",
    async ({ grpc, other, seed }) => {
      folder = makeTemporaryFolder();
      service = await startFuzzedService(folder.path, grpc);
      const { targets, pid } = service;
      const before = { sockets: service.openSockets(), rss: service.rssBytes() };
      const random = new Random(seed);
      const fed = targets
        .filter(({ name, speaks }) => speaks === "grpc" || name === other)
        .map((target) => ({
          target,
          random: random.fork(),
          totals: { inputs: 0, bytes: 0, connections: 0 } satisfies FuzzTotals,
        }));
      expect(fed).toHaveLength(2);
      let rssMax = 0;
      for (let round = 0; round < ROUNDS; round++) {
        await Promise.all(fed.map((each) => fuzzListener(each.target, each.random, INPUTS / ROUNDS, each.totals)));
        await service.assertAnswers();
        rssMax = Math.max(rssMax, service.rssBytes());
        expect(rssMax).toBeLessThan(RSS_MAX_BYTES);
      }
      expect(service.complaints()).toEqual([]);
      const { openSockets } = service;
      const isEmpty = (): void => expect(openSockets.call(service)).toBeLessThanOrEqual(before.sockets);
      await eventually("its connections to be gone", isEmpty, GONE_TIMEOUT_MS);
      expect(service.pid).toBe(pid);
      const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(0)} MiB`;
      for (const { target, totals } of fed)
        printed(`fuzz ${target.name}: ${totals.inputs} inputs, ${totals.connections} connections`);
      printed(
        `fuzz RSS: ${mebibytes(before.rss)} before, ${mebibytes(rssMax)} at most, ${mebibytes(service.rssBytes())} after`,
      );
      for (const { totals } of fed) expect(totals.inputs).toBeGreaterThanOrEqual(INPUTS);
      expect(await service.stop()).toBe(0);
    },
    TIMEOUT_MS,
  );
});
