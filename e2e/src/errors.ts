// The errors of the local stack and of the benchmarks. The errors of the programs they start belong
// to those programs.
import type { ErrorTable } from "@weir/common/errors/service-error";
import { ServiceError } from "@weir/common/errors/service-error";

/** The error codes of `make run` and of the benchmarks. */
export const E2E_ERRORS = {
  STACK_NOT_BUILT: {
    meaning: "A program of the local stack has not been built.",
    remedy: "Run `make build`; `make run` does so by itself.",
  },
  STACK_PORT_IN_USE: {
    meaning: "Ports the local stack needs are taken, by another stack or by another program.",
    remedy:
      "End the other program, or move the port with the setting that the message names, for example `PORT=8180 make run`.",
  },
  STACK_FOLDER_UNUSABLE: {
    meaning: "A folder of the local stack is missing, is no folder, or cannot be written to.",
    remedy: "Correct the folder or the setting that the message names: SOURCE_DIRECTORY or RUN_DIRECTORY.",
  },
  STACK_NOT_READY: {
    meaning: "A program of the local stack started but did not become ready in time.",
    remedy: "Read its last log lines, printed with the message; the whole log is in .run/logs.",
  },
  STACK_PROGRAM_ENDED: {
    meaning: "A program of the local stack ended by itself, so the stack was stopped.",
    remedy: "Read its last log lines, printed with the message; the whole log is in .run/logs.",
  },
  BENCHMARK_FAILED: {
    meaning: "A benchmark could not be measured: the server or the load generator failed, or an answer was wrong.",
    remedy: "Read the message; a benchmark that measures failures would be worthless, so nothing is printed for it.",
  },
} as const satisfies ErrorTable;

/** The code of every error this workspace throws. */
export type E2eErrorCode = keyof typeof E2E_ERRORS;

/** An error of the local stack or of a benchmark. */
export class E2eError extends ServiceError<E2eErrorCode> {}
