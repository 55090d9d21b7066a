// Fixture of the tests with many connections: a service, and the connections to it.
import { FLAG, FRAME, frame, FrameReader, openingBytes } from "@weir/harness/http2/http2-frames";
import { Wire } from "@weir/harness/http2/wire";
import { makeTemporaryFolder } from "@weir/harness/processes/temporary-folder";
import type { FuzzTarget } from "./fuzz-listener.suite.ts";
import { type FuzzedService, startFuzzedService } from "./fuzzed-service.suite.ts";
import { goodRequest } from "./http1-inputs.suite.ts";

/** Connections that are opened together. */
const BATCH = 100;

/** Longest wait for an answer, in milliseconds. */
const ANSWER_MS = 60_000;

/** A service with connections. */
export class ConnectionFixture {
  /** Every connection that was opened. */
  readonly wires: Wire[] = [];
  /** When a connection was answered last. */
  readonly answeredMs = new WeakMap<Wire, number>();
  readonly #folder = makeTemporaryFolder();
  #service: FuzzedService | undefined;

  /** Starts the service; `prefix` goes in front of its command line. */
  async start(prefix: readonly string[] = []): Promise<FuzzedService> {
    return (this.#service = await startFuzzedService(this.#folder.path, "plain", prefix));
  }

  /** The listener of this name. */
  target(name: string): FuzzTarget {
    const target = this.#service?.targets.find((each) => each.name === name);
    if (target === undefined) throw new Error(`The listener ${name} does not exist`);
    return target;
  }

  /** Resolves to true if the server answers on this connection, for the first time or once more. */
  async isAnswered(wire: Wire, { speaks }: FuzzTarget): Promise<boolean> {
    let hasAnswer = false;
    if (speaks === "grpc") {
      const isPong = (type: number, flags: number): boolean => type === FRAME.PING && (flags & FLAG.ACK) !== 0;
      const reader = new FrameReader((type, flags) => (hasAnswer ||= isPong(type, flags)));
      wire.onData = (chunk) => reader.read(chunk);
      if (!this.answeredMs.has(wire)) wire.write(openingBytes());
      wire.write(frame(FRAME.PING, 0, 0, Buffer.alloc(8)));
    } else {
      wire.onData = () => (hasAnswer = true);
      wire.write(goodRequest({ ...speaks, paths: ["/healthcheck"] }));
    }
    const isIt = await wire.until(() => hasAnswer, ANSWER_MS);
    if (isIt) this.answeredMs.set(wire, performance.now());
    return isIt;
  }

  /** Opens so many connections and uses each once; resolves with those that the server accepted. */
  async openMany(target: FuzzTarget, count: number): Promise<readonly Wire[]> {
    const accepted: Wire[] = [];
    for (let opened = 0; opened < count; opened += BATCH) {
      const some = Array.from({ length: Math.min(BATCH, count - opened) }, async () => {
        const wire = await Wire.open(target.address);
        this.wires.push(wire);
        if (await this.isAnswered(wire, target)) accepted.push(wire);
      });
      await Promise.all(some);
    }
    return accepted;
  }

  /** Closes the connections and ends the service. */
  end(): void {
    for (const wire of this.wires) wire.destroy();
    this.#service?.program.kill();
    this.#folder.remove();
  }
}
