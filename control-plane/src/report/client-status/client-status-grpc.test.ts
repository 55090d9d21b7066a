// Tests of client-status-grpc.ts: what is made for clients that do not read, and how many of them
// there may be. What is answered: client-status.test.ts.
import { Duplex } from "node:stream";

import { create } from "@bufbuild/protobuf";
import { silentLog } from "@weir/common/log/log";
import { ClientStatusRequestSchema } from "@weir/proto/generated/envoy/service/status/v3/csds_pb";
import { beforeEach, describe, expect, it } from "vitest";

import { ConcurrencyLimit } from "../concurrency-limit.ts";
import { clientStatusService } from "./client-status-grpc.ts";

/**
 * A call as grpc-js has it, whose client reads an answer when the test says so, and then asks on.
 */
class FakeCall extends Duplex {
  readonly reads: (() => void)[] = [];
  readonly errors: unknown[] = [];

  constructor() {
    super({ objectMode: true });
    this.on("error", (error) => this.errors.push(error));
  }

  override _read(): void {
    // Requests come by push().
  }

  override _write(_answer: unknown, _encoding: string, read: () => void): void {
    this.reads.push(read);
  }

  getPeer(): string {
    return "192.0.2.1:4711";
  }

  ask(times: number): void {
    for (let count = 0; count < times; count += 1) this.push(create(ClientStatusRequestSchema));
  }
}

describe("clientStatusService()", () => {
  let answers: number;
  let stream: (call: FakeCall) => void;

  function open(): FakeCall {
    const call = new FakeCall();
    stream(call);
    return call;
  }

  beforeEach(() => {
    answers = 0;
    const facts = () => {
      answers += 1;
      return { pods: [], snapshotFor: () => undefined };
    };
    stream = clientStatusService({ facts, limit: new ConcurrencyLimit({ max: 1, task: "" }), log: silentLog() })
      .implementation["streamClientStatus"] as unknown as typeof stream;
  });

  it("makes one answer on a stream for a client that does not read, and the next when it has read that", async () => {
    const call = open();
    call.ask(5);
    await settle();
    expect(answers).toBe(1);
    call.reads.shift()?.();
    await settle();
    expect(answers).toBe(2);
  });

  it("answers every request, and ends the stream after the client has ended it", async () => {
    const call = open();
    let isFinished = false;
    call.on("finish", () => (isFinished = true));
    call.ask(3);
    call.push(null);
    for (let count = 0; count < 3; count += 1) {
      await settle();
      call.reads.shift()?.();
    }
    await settle();
    expect([answers, isFinished, call.errors]).toEqual([3, true, []]);
  });

  it("refuses a seventeenth stream, and takes another when one has ended", () => {
    const calls = Array.from({ length: 16 }, open);
    const details = "Cannot stream client status: this replica has 16 such streams already";
    expect(open().errors).toMatchObject([{ code: 8, details }]);
    calls[0]?.emit("cancelled");
    expect([...calls, open()].map(({ errors }) => errors)).toEqual(Array.from({ length: 17 }, () => []));
    expect(open().errors).toMatchObject([{ code: 8 }]);
  });
});

/** Lets everything happen that waits for nothing. */
async function settle(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}
