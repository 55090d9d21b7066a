// The errors of the local stack. The errors of the programs it starts belong to those programs.
import type { ErrorTable } from "@weir/common/errors/service-error";
import { ServiceError } from "@weir/common/errors/service-error";

/** The error codes of `make run`. */
export const DEV_ERRORS = {
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
} as const satisfies ErrorTable;

/** The code of every error this workspace throws. */
export type DevErrorCode = keyof typeof DEV_ERRORS;

/** An error of the local stack. */
export class DevError extends ServiceError<DevErrorCode> {}
