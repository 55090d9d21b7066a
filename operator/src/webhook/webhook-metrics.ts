// Metrics of the admission webhook, with the names and labels of controller-runtime.
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

/** Codes whose series exist from the start, as in controller-runtime. */
const CODES = [200, 500] as const;

/** Counts the requests of one webhook. */
export class WebhookMetrics {
  readonly #webhook: string;
  readonly #monotonicMs: () => number;
  readonly #requests: Counter;
  readonly #latencySeconds: Histogram;
  readonly #inFlight: Gauge;

  /** `webhook` is the path that it serves. */
  constructor(deps: { readonly registry: Registry; readonly monotonicMs: () => number }, webhook: string) {
    const registers = [deps.registry];
    this.#webhook = webhook;
    this.#monotonicMs = deps.monotonicMs;
    this.#requests = new Counter({
      name: "controller_runtime_webhook_requests_total",
      help: "Admission requests by HTTP status code.",
      labelNames: ["webhook", "code"],
      registers,
    });
    this.#latencySeconds = new Histogram({
      name: "controller_runtime_webhook_latency_seconds",
      help: "Time from the head of an admission request to the end of its answer.",
      labelNames: ["webhook"],
      registers,
    });
    this.#inFlight = new Gauge({
      name: "controller_runtime_webhook_requests_in_flight",
      help: "Admission requests that are served now.",
      labelNames: ["webhook"],
      registers,
    });
    for (const code of CODES) this.#requests.inc({ webhook, code }, 0);
    this.#latencySeconds.zero({ webhook });
    this.#inFlight.set({ webhook }, 0);
  }

  /** A request has begun. The function is called once, with its status; undefined: it was cut off. */
  began(): (status: number | undefined) => void {
    const webhook = this.#webhook;
    const beganMs = this.#monotonicMs();
    this.#inFlight.inc({ webhook });
    return (status) => {
      this.#inFlight.dec({ webhook });
      if (status === undefined) return;
      this.#requests.inc({ webhook, code: status });
      this.#latencySeconds.observe({ webhook }, (this.#monotonicMs() - beganMs) / 1000);
    };
  }
}
