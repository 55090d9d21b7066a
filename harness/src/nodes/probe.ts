// Asks one probe of a container, at its path and period, as a kubelet does.
import { once } from "node:events";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { fieldsOf, type Mapping, mappingsOf } from "@weir/kubernetes/mapping";

/** Defaults of Kubernetes. */
const DEFAULTS = {
  periodSeconds: 10,
  timeoutSeconds: 1,
  failureThreshold: 3,
  successThreshold: 1,
  initialDelaySeconds: 0,
};

/** A probe of a container at an address. */
export class Probe {
  readonly #spec: Mapping;
  readonly #container: Mapping;
  readonly #address: string;

  constructor(spec: Mapping, container: Mapping, address: string) {
    this.#spec = spec;
    this.#container = container;
    this.#address = address;
  }

  /**
   * Asks until the signal is aborted, and calls back with each change of the result: true after
   * `successThreshold` good answers, false after `failureThreshold` bad ones.
   */
  async follow(onResult: (isGood: boolean) => void, signal: AbortSignal): Promise<void> {
    const { periodSeconds, failureThreshold, successThreshold, initialDelaySeconds } = this.#numbers();
    let [good, bad] = [0, 0];
    for (let waitMs = initialDelaySeconds * 1000; await passes(waitMs, signal); waitMs = periodSeconds * 1000) {
      if (await this.#ask()) [good, bad] = [good + 1, 0];
      else [good, bad] = [0, bad + 1];
      if (signal.aborted) return;
      if (good === successThreshold) onResult(true);
      if (bad === failureThreshold) onResult(false);
    }
  }

  #numbers(): typeof DEFAULTS {
    return { ...DEFAULTS, ...(this.#spec as Partial<typeof DEFAULTS>) };
  }

  async #ask(): Promise<boolean> {
    const timeout = AbortSignal.timeout(this.#numbers().timeoutSeconds * 1000);
    const { httpGet, tcpSocket } = this.#spec;
    try {
      if (httpGet !== undefined) return await this.#get(fieldsOf(httpGet), timeout);
      if (tcpSocket === undefined) throw new Error("Cannot ask a probe that is neither httpGet nor tcpSocket");
      const socket = connect(this.#portOf(fieldsOf(tcpSocket)["port"]), this.#address);
      await once(socket, "connect", { signal: timeout }).finally(() => socket.destroy());
      return true;
    } catch {
      return false; // No answer is a bad one.
    }
  }

  async #get({ scheme = "HTTP", port, path, httpHeaders }: Mapping, signal: AbortSignal): Promise<boolean> {
    const headers = mappingsOf(httpHeaders).map(({ name, value }) => [String(name), String(value)] as [string, string]);
    const url = `${String(scheme).toLowerCase()}://${this.#address}:${this.#portOf(port)}${String(path)}`;
    const response = await fetch(url, { signal, headers, redirect: "manual" });
    await response.body?.cancel();
    return response.status >= 200 && response.status < 400;
  }

  #portOf(port: unknown): number {
    if (typeof port === "number") return port;
    return Number(mappingsOf(this.#container["ports"]).find(({ name }) => name === port)?.["containerPort"]);
  }
}

/** Waits; false when the signal was aborted meanwhile. */
async function passes(waitMs: number, signal: AbortSignal): Promise<boolean> {
  try {
    await delay(waitMs, undefined, { signal, ref: false });
    return true;
  } catch {
    return false; // Aborted.
  }
}
