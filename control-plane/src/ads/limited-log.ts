// Keeps what clients can cause as often as they like from filling the log: so many lines of each
// kind in a second, the rest is counted.
import type { Log, LogFields } from "@weir/common/log/log";

/** Lines of one kind in one second. */
const LINES_PER_SECOND = 5;

/** A log for warnings that come as often as clients please. */
export interface LimitedLog {
  /**
   * Writes a line, or counts it: the next line with this message says how many were not written.
   * Messages are literals: what differs is in the fields.
   */
  warn(message: string, fields: LogFields): void;
}

/** What is known of one message. */
interface Kind {
  sinceMs: number;
  lines: number;
  left: number;
}

/**
 * Limits a log, each message by itself: those of which there are many do not hide the others.
 * `nowMs` never runs backwards.
 */
export function limitLog(log: Log, nowMs: () => number): LimitedLog {
  const kinds = new Map<string, Kind>();
  return {
    warn: (message, fields) => {
      const now = nowMs();
      const kind = kinds.get(message) ?? { sinceMs: now, lines: 0, left: 0 };
      kinds.set(message, kind);
      if (now - kind.sinceMs >= 1000) {
        kind.sinceMs = now;
        kind.lines = 0;
      }
      if (kind.lines >= LINES_PER_SECOND) {
        kind.left += 1;
        return;
      }
      kind.lines += 1;
      log.warn(message, kind.left === 0 ? fields : { ...fields, leftOut: kind.left });
      kind.left = 0;
    },
  };
}
