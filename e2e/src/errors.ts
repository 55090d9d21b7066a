// The errors of the benchmarks. The errors of the programs they start belong to those programs.
import type { ErrorTable } from "@weir/common/errors/service-error";
import { ServiceError } from "@weir/common/errors/service-error";

/** The error codes of the benchmarks. */
export const E2E_ERRORS = {
  BENCHMARK_FAILED: {
    meaning: "A benchmark could not be measured: the server or the load generator failed, or an answer was wrong.",
    remedy: "Read the message; a benchmark that measures failures would be worthless, so nothing is printed for it.",
  },
} as const satisfies ErrorTable;

/** An error of a benchmark. */
export class E2eError extends ServiceError<keyof typeof E2E_ERRORS> {}
