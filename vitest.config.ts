// How the tests run: five projects, by what a test needs, each with a limit on its time. The name of
// a file says which project it belongs to.
import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";

/** The condition under which workspaces resolve to each other's sources instead of their build. */
const conditions = ["source"];

/** Files of unit tests that run at a time: two even on two processors. */
const WORKERS = Math.max(2, availableParallelism() - 1);

/** Other test files that run at a time: three quarters of their time is waiting for servers. */
const WAITING_WORKERS = 2 * WORKERS;

/**
 * Longest time in which servers start and stop before and after tests, in milliseconds. Whole clusters do, on
 * machines that have little time for each; what does not start says so sooner, by its own limit.
 */
const HOOK_TIMEOUT_MS = 300_000;

/**
 * Longest time of a test with real servers, in milliseconds: several times what the longest need on a machine
 * that runs four of them at a time.
 */
const REAL_TIMEOUT_MS = 120_000;

/** Longest value that the message of a failure shows, in characters: the end often says why. */
const VALUE_LENGTH_MAX = 600;

/**
 * Files that take a minute and longer, longest first: each starts before the other files of its project, so that
 * none runs alone at the end. Vitest alone starts with the largest files when it has no times of an earlier run, as
 * in CI.
 */
const LONGEST = [
  "e2e/src/scenarios/upgrade.node.test.ts",
  "e2e/src/scenarios/product-faults.node.test.ts",
  "charts/src/scope.system.test.ts",
  "e2e/src/docs/commands.system.test.ts",
  "e2e/src/scenarios/monitoring.node.test.ts",
  "e2e/src/scenarios/operator-writes.node.test.ts",
  "e2e/src/scenarios/operator.node.test.ts",
  "charts/src/release.system.test.ts",
  "tools/release/release.system.test.ts",
  "ratelimit/src/counters/redis/cluster/cluster-faults.system.test.ts",
  "e2e/src/scenarios/ipv6.node.test.ts",
  "ratelimit/src/startup/redis-backend.system.test.ts",
  "e2e/src/scenarios/replica-pods.system.test.ts",
  "operator/src/election.system.test.ts",
  "http2/src/fuzz/fuzz.integration.test.ts",
  "e2e/src/scenarios/certificates.node.test.ts",
  "charts/src/api-server.system.test.ts",
];

class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const position = ({ moduleId }: TestSpecification): number => {
      const index = LONGEST.findIndex((path) => moduleId.endsWith(`/${path}`));
      return index === -1 ? LONGEST.length : index;
    };
    return (await super.sort(files)).toSorted((one, other) => position(one) - position(other));
  }
}

/** A project with the tests `*.<suffix>.test.ts`, each of which may take `timeoutMs` unless it names more. */
function project(name: string, order: number, timeoutMs: number, maxWorkers = WAITING_WORKERS) {
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      name,
      include: [`*/src/**/*.${name}.test.ts`, `tools/**/*.${name}.test.ts`],
      exclude: ["**/node_modules/**"],
      maxWorkers,
      testTimeout: timeoutMs,
      hookTimeout: name === "unit" ? timeoutMs : HOOK_TIMEOUT_MS,
      chaiConfig: { truncateThreshold: VALUE_LENGTH_MAX },
      // One project after the other: unit tests would take the processor from servers.
      sequence: { groupOrder: order },
    },
  };
}

/** The project with the node that its tests share. */
function withSharedNode<T extends ReturnType<typeof project>>({ test, ...rest }: T) {
  return { ...rest, test: { ...test, globalSetup: ["harness/src/node/shared-node.ts"] } };
}

// Milliseconds each; the limit is for a machine that stands still meanwhile.
const unit = project("unit", 0, 20_000, WORKERS);

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    coverage: {
      provider: "v8",
      include: ["*/src/**/*.ts", "tools/**/*.ts"],
      exclude: ["**/generated/**", "**/*.test.ts", "**/*.suite.ts"],
      reporter: ["text-summary", "html"],
    },
    projects: [
      // No server, no clock, no chance.
      {
        ...unit,
        test: {
          ...unit.test,
          pool: "threads", // They start faster than processes.
          include: ["*/src/**/*.test.ts", "tools/**/*.test.ts"],
          exclude: ["**/*.{integration,system,node,measured,soak}.test.ts", "**/node_modules/**"],
        },
      },
      // Real servers that need nothing but Node, Redis and memcached, and no build.
      project("integration", 1, REAL_TIMEOUT_MS),
      // Everything else that is real: the built programs, Envoy, Kubernetes, tools built with Go.
      project("system", 2, REAL_TIMEOUT_MS),
      // Weir installed on a real Kubernetes node, which these files share: each has namespaces of its own.
      withSharedNode(project("node", 3, REAL_TIMEOUT_MS, WORKERS)),
      // Tests that measure time or memory: one file at a time, after all tests above.
      project("measured", 4, REAL_TIMEOUT_MS, 1),
      // Tests that take minutes by nature.
      project("soak", 5, 1_800_000, WORKERS),
    ],
  },
});
