// Follows the report of one control plane replica: connects, reads states and heartbeats, and connects
// again after a wait.
import { setTimeout as pause } from "node:timers/promises";

import { createClient } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import { Backoff } from "@weir/common/backoff/backoff";
import { describeError } from "@weir/common/errors/service-error";
import { clientContext } from "@weir/common/tls/client-context";
import type { TlsMaterial } from "@weir/common/tls/tls-material";
import { type Rollout, RolloutService } from "@weir/proto/generated/weir/rollout/v1/rollout_pb";

/** How often a replica without news sends something, in milliseconds: a few may be late. */
const HEARTBEAT_MS = 2000;

/** When a stream without anything is given up, in milliseconds. */
const STALE_MS = 8000;

/** Waits between attempts to connect, in milliseconds. */
const BACKOFF = { initialMs: 250, maxMs: 5000, factor: 1, jitter: true } as const;

/** Largest report, in bytes: thousands of resources and pods. */
const REPORT_MAX_BYTES = 64 * 1024 * 1024;

/** How replicas are reached. */
export interface ReplicaAccess {
  /** Read for each connection, so that renewed certificates are used; undefined: without TLS. */
  readonly tls: (() => TlsMaterial) | undefined;
  /** Name in the certificates of all replicas. */
  readonly serverName: string;
}

/** Receives the reports of a stream, and its end. */
export interface StreamListener {
  /** Something came: a report, or undefined when the last one is still right. */
  answered(rollout: Rollout | undefined): void;
  /** The stream ended, or could not be opened. */
  lost(reason: string): void;
}

/** Follows the replica at an address until the signal aborts; never rejects. */
export async function followReplica(
  address: string,
  access: ReplicaAccess,
  listener: StreamListener,
  { signal, random }: { readonly signal: AbortSignal; readonly random: () => number },
): Promise<void> {
  const backoff = new Backoff({ ...BACKOFF, random });
  while (!signal.aborted) {
    const reason = await readStream(address, access, signal, (rollout) => {
      backoff.reset();
      listener.answered(rollout);
    });
    listener.lost(reason);
    await pause(backoff.nextMs(), undefined, { signal }).catch(() => undefined); // Only the signal ends it early.
  }
}

/** Reads one stream to its end; resolves with the reason. */
async function readStream(
  address: string,
  { tls, serverName }: ReplicaAccess,
  stopping: AbortSignal,
  answered: (rollout: Rollout | undefined) => void,
): Promise<string> {
  const ended = new AbortController();
  let timer = setTimeout(() => ended.abort(), STALE_MS);
  try {
    const transport = createGrpcTransport({
      baseUrl: `${tls === undefined ? "http" : "https"}://${address}`,
      nodeOptions:
        tls === undefined ? {} : { secureContext: clientContext(tls()), servername: serverName, ALPNProtocols: ["h2"] },
      readMaxBytes: REPORT_MAX_BYTES,
      // The connection is this stream's alone: it ends with it.
      idleConnectionTimeoutMs: 1,
    });
    const signal = AbortSignal.any([stopping, ended.signal]);
    const request = { heartbeatMs: HEARTBEAT_MS, settledDigests: true };
    const stream = createClient(RolloutService, transport).watchRollout(request, { signal });
    for await (const { rollout } of stream) {
      clearTimeout(timer);
      timer = setTimeout(() => ended.abort(), STALE_MS);
      answered(rollout);
    }
    return "the stream ended";
  } catch (error) {
    return ended.signal.aborted ? `nothing came for ${STALE_MS / 1000} s` : describeError(error);
  } finally {
    clearTimeout(timer);
  }
}
