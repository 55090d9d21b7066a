// Counters and histograms of pushes: their number, the answers of pods, and the times.
import { Counter, Histogram, type Registry } from "prom-client";

import type { PodChange, PodRegistry } from "../pods/pod-registry.ts";
import { entryFor, publicationFor } from "../snapshot/publication.ts";
import type { PublisherState } from "../snapshot/publisher.ts";

/** Bounds of the buckets, in seconds: around the second within which a change should arrive. */
const BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export interface PushMetricsDeps {
  readonly pods: PodRegistry;
  readonly publisher: () => PublisherState;
}

/** Makes the metrics and starts to observe. */
export function observePushes(registers: Registry[], { pods, publisher }: PushMetricsDeps): void {
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const pushes = counter("weir_ads_pushes_total", "Responses sent to rate limit pods.");
  const acknowledgements = counter("weir_ads_acks_total", "Responses that a rate limit pod ACKed.");
  const rejections = new Counter({
    name: "weir_ads_nacks_total",
    help: "Responses that a rate limit pod NACKed: resource when its text names one that is served, other when not.",
    labelNames: ["reason"],
    registers,
  });
  for (const reason of ["resource", "other"]) rejections.inc({ reason }, 0);
  const suppressed = counter(
    "weir_ads_suppressed_resends_total",
    "Times that the active version was not sent to a pod again, because the pod had NACKed it.",
  );
  const histogram = (name: string, help: string): Histogram =>
    new Histogram({ name, help, buckets: BUCKETS_SECONDS, registers });
  const toSend = histogram(
    "weir_push_change_to_send_seconds",
    "Time from a change of resources until a connected pod is sent it.",
  );
  const toAck = histogram("weir_push_send_to_ack_seconds", "Time from sending a response until the pod ACKs it.");
  pods.onChanged((change) => {
    const { kind, pod } = change;
    const { sent, accepted, rejected, fleet } = pod;
    const state = publisher();
    if (kind === "sent") {
      pushes.inc();
      const waited = waitOf(change, state);
      if (waited !== undefined) toSend.observe(waited);
    } else if (kind === "accepted") {
      acknowledgements.inc();
      if (sent !== undefined && accepted?.version === sent.version)
        toAck.observe(secondsBetween(sent.atMs, accepted.atMs));
    } else if (kind === "rejected" && rejected !== undefined) {
      rejections.inc({ reason: namesResource(rejected.message, state) ? "resource" : "other" });
      if (rejected.version === publicationFor(state.publication, fleet)?.snapshot?.version) suppressed.inc();
    }
  });
}

/** Seconds from change to push; undefined if the pod connected later or gets something else. */
function waitOf(
  { before, pod: { connectedMs, fleet, sent } }: PodChange,
  { publication, changedMs }: PublisherState,
): number | undefined {
  if (sent?.version !== publicationFor(publication, fleet)?.snapshot?.version) return undefined;
  if (before?.sent?.version === sent?.version) return undefined; // The pod asked for it again.
  const changed = changedMs.get(entryFor(publication, fleet));
  return changed === undefined || sent === undefined || changed <= connectedMs
    ? undefined
    : secondsBetween(changed, sent.atMs);
}

/** The text of a NACK begins with the name of the resource and a colon. */
function namesResource(message: string, { desired }: PublisherState): boolean {
  const [name] = message.split(":", 1);
  return desired?.accepted.some(({ key }) => key === name) ?? false;
}

/** At least 0: clocks may be set back. */
function secondsBetween(fromMs: number, toMs: number): number {
  return Math.max(0, toMs - fromMs) / 1000;
}
