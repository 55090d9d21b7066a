// How the tests run: two projects, so that unit tests can be asked for alone, and coverage over the
// sources of every workspace.
import { availableParallelism } from "node:os";

import { defineConfig } from "vitest/config";

/** The condition under which workspaces resolve to each other's sources instead of their build. */
const conditions = ["source"];

/**
 * Longest time of a unit test, in milliseconds: none waits for anything, but some calculate for
 * seconds when the processors are shared.
 */
const UNIT_TIMEOUT_MS = 180_000;

/**
 * Longest time of an integration test, in milliseconds: more than what it waits for may take in all
 * on a busy machine, because those waits have deadlines of their own, which tell what did not come.
 */
const INTEGRATION_TIMEOUT_MS = 180_000;

/**
 * Test files that run at a time: two even on two processors, because most of their time is waiting
 * for servers.
 */
const WORKERS = Math.max(2, availableParallelism() - 1);

export default defineConfig({
  test: {
    maxWorkers: WORKERS,
    coverage: {
      provider: "v8",
      include: ["*/src/**/*.ts", "tools/**/*.ts"],
      exclude: ["**/generated/**", "**/*.test.ts", "**/*.suite.ts", "**/*.benchmark.ts"],
      reporter: ["text-summary", "html"],
    },
    projects: [
      {
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: {
          name: "unit",
          include: ["*/src/**/*.test.ts", "tools/**/*.test.ts"],
          exclude: ["**/*.integration.test.ts", "**/node_modules/**"],
          testTimeout: UNIT_TIMEOUT_MS,
        },
      },
      {
        resolve: { conditions },
        ssr: { resolve: { conditions } },
        test: {
          name: "integration",
          include: ["*/src/**/*.integration.test.ts", "tools/**/*.integration.test.ts"],
          testTimeout: INTEGRATION_TIMEOUT_MS,
          hookTimeout: INTEGRATION_TIMEOUT_MS,
          // After the unit tests: those would take the processor from servers that have to answer
          // in time.
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
});
