// The error codes of this workspace, explained for docs/errors.md.
import type { ErrorTable } from "./errors/service-error.ts";

/** The error codes of the process plumbing. */
export const COMMON_ERRORS = {
  SETTINGS_INVALID: {
    meaning:
      "One or more settings in the environment do not parse or contradict each other; the message lists every one of them.",
    remedy:
      "Correct the variables that the message names; `--help` of the program lists all settings with their defaults.",
  },
  ARGUMENTS_INVALID: {
    meaning: "The command line holds something the program does not understand.",
    remedy: "Run the program with `--help` and correct the command line.",
  },
  FOLDER_UNUSABLE: {
    meaning: "A folder that the program needs could not be made; the message names it and what is in the way.",
    remedy: "Name a folder where this user may write, or remove what is in the way.",
  },
  LISTEN_FAILED: {
    meaning: "A listener could not take its address, mostly because another process has the port.",
    remedy: "Stop the other process, or move this listener with the setting that the message names.",
  },
  START_INTERRUPTED: {
    meaning: "The process received a signal to stop while it was still starting.",
    remedy: "Nothing to do: the parts that had started were stopped in order.",
  },
  STOP_INCOMPLETE: {
    meaning:
      "A part of the process failed while stopping, or did not stop before the deadline; the others were stopped.",
    remedy: "Look at the part that the message names. A longer grace period helps when it only had much to finish.",
  },
  TLS_FILE_INVALID: {
    meaning:
      "A certificate, key or CA file is missing, unreadable, not PEM, or the key does not belong to the certificate.",
    remedy:
      "Correct the file that the message names. A running process keeps the last good files and reloads by itself.",
  },
  AUTHORITY_INVALID: {
    meaning: "The certificate and key given as a certificate authority are not a usable pair.",
    remedy: "Delete both files to have new ones made, or bring the pair that belongs together.",
  },
} as const satisfies ErrorTable;
