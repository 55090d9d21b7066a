// Keeps what clients can cause as often as they like from filling the log: so many lines in a second, the rest is counted.
import type { Log, LogFields } from "@weir/common/log/log";

/** Lines in one second. */
const LINES_PER_SECOND = 5;

/** A log for warnings that come as often as clients please. */
export interface LimitedLog {
  /** Writes a line, or counts it: the next line that is written says how many were not. */
  warn(message: string, fields: LogFields): void;
}

/** Limits a log; `nowMs` never runs backwards. */
export function limitLog(log: Log, nowMs: () => number): LimitedLog {
  let sinceMs = -Infinity;
  let lines = 0;
  let left = 0;
  return {
    warn: (message, fields) => {
      const now = nowMs();
      if (now - sinceMs >= 1000) {
        sinceMs = now;
        lines = 0;
      }
      if (lines >= LINES_PER_SECOND) {
        left += 1;
        return;
      }
      lines += 1;
      log.warn(message, left === 0 ? fields : { ...fields, leftOut: left });
      left = 0;
    },
  };
}
