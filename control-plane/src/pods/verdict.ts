// Who rejects one content or one version, and in which words. What follows from that is
// quarantine-fleet.ts's.
import { makeRoom } from "./make-room.ts";

/**
 * How many pods that rejected one thing are told apart; the first ones are forgotten, and asked
 * again.
 */
const REJECTERS_MAX = 1000;

/** Rejections of one content or of one version. */
export interface Verdict {
  readonly sinceMs: number;
  message: string;
  /** Who rejected it and has not accepted it since, connected or not. */
  readonly pods: Set<string>;
  /** How many of them are connected; undefined while that is to be counted. */
  connected: number | undefined;
}

/** Nobody rejects it yet. */
export function newVerdict(sinceMs: number, message: string): Verdict {
  return { sinceMs, message, pods: new Set(), connected: undefined };
}

/** Adds a pod, and its words. */
export function addPod(verdict: Verdict, pod: string, message: string): void {
  verdict.message = message;
  verdict.connected = undefined;
  if (!verdict.pods.has(pod)) makeRoom(verdict.pods, REJECTERS_MAX);
  verdict.pods.add(pod);
}

/** Takes a pod away; tells whether it was there. */
export function forgetPod(verdict: Verdict, pod: string): boolean {
  verdict.connected = undefined;
  return verdict.pods.delete(pod);
}

/** How many of those that reject it are connected; counted once until somebody comes or goes. */
export function countConnected(verdict: Verdict, isConnected: (pod: string) => boolean): number {
  verdict.connected ??= verdict.pods.values().reduce((count, pod) => (isConnected(pod) ? count + 1 : count), 0);
  return verdict.connected;
}

/**
 * The resource that a rejection names: what stands before the first colon, because the name of a
 * resource on the wire holds none.
 */
export function nameIn(message: string): string {
  return message.split(":", 1)[0] ?? "";
}
