// The NACKs of one content or one version: which pods sent them, and the last text.
import { evictOldest } from "./evict-oldest.ts";

/** Most pods that one record remembers; the oldest are forgotten, and sent the content again. */
const PODS_MAX = 1000;

/** NACKs of one content or of one version. */
export interface NackRecord {
  readonly sinceMs: number;
  message: string;
  /** Pods that NACKed it and have not ACKed it since, connected or not. */
  readonly pods: Set<string>;
  /** How many of them are connected; undefined until counted. */
  connected: number | undefined;
}

/** A record without pods. */
export function newNackRecord(sinceMs: number, message: string): NackRecord {
  return { sinceMs, message, pods: new Set(), connected: undefined };
}

/** Adds a pod and its text. */
export function addPod(record: NackRecord, pod: string, message: string): void {
  record.message = message;
  record.connected = undefined;
  if (!record.pods.has(pod)) evictOldest(record.pods, PODS_MAX);
  record.pods.add(pod);
}

/** Removes a pod; returns whether it was in the record. */
export function removePod(record: NackRecord, pod: string): boolean {
  record.connected = undefined;
  return record.pods.delete(pod);
}

/** Counts the connected pods of the record; the number is kept until pods come or leave. */
export function countConnected(record: NackRecord, isConnected: (pod: string) => boolean): number {
  record.connected ??= record.pods.values().reduce((count, pod) => (isConnected(pod) ? count + 1 : count), 0);
  return record.connected;
}

/** The resource in a NACK: the text before the first colon, which no name on the wire has. */
export function resourceIn(message: string): string {
  return message.split(":", 1)[0] ?? "";
}
