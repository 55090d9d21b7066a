// Connections beyond the file descriptors of the process, and peers that go silent.
import { readFileSync } from "node:fs";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "@weir/harness/processes/eventually";
import { ConnectionFixture } from "./connection-fixture.suite.ts";

let fixture: ConnectionFixture;

beforeEach(() => {
  fixture = new ConnectionFixture();
});
afterEach(() => fixture.end());

describe("weir-ratelimit with many connections", () => {
  it("refuses connections beyond its file descriptors, logs it once, serves those it has, and recovers", async () => {
    const running = await fixture.start(["sh", "-c", 'ulimit -n 256; exec "$@"', "sh"]);
    const [grpc, http] = [fixture.target("gRPC (plain)"), fixture.target("HTTP")];
    const first = await fixture.openMany(grpc, 150);
    const second = await fixture.openMany(http, 150);
    // 192 in all, because 64 descriptors are for other things; of these 24 are kept for each
    // listener.
    expect([first.length, second.length]).toEqual([120, 24]);
    expect(fixture.wires.filter((wire) => wire.isClosed)).toHaveLength(156); // Refused, not left to wait.
    expect(running.logLines(/Refused connections/)).toEqual([
      expect.stringContaining("256 file descriptors allow no more connections here, besides those of other listeners"),
    ]);
    expect(running.logLines(/EMFILE|ENFILE/)).toEqual([]);
    expect(await fixture.isAnswered(first[0]!, grpc)).toBe(true);
    expect(await fixture.isAnswered(second[0]!, http)).toBe(true);
    for (const name of ["debug", "statistics"])
      expect(await fixture.openMany(fixture.target(name), 24)).toHaveLength(24);
    // Work that needs files continues: the rules are read again.
    running.program.signal("SIGHUP");
    for (const wire of first) wire.destroy();
    await eventually("the service to accept connections again", () => running.assertAnswers());
    expect(running.complaints()).toEqual([]);
  });

  it.each(["gRPC (plain)", "HTTP", "debug", "statistics"])("%s probes silent peers by TCP keep-alive", async (name) => {
    await fixture.start();
    const target = fixture.target(name);
    await fixture.openMany(target, 1);
    const port = target.address.kind === "unix" ? 0 : target.address.port;
    // proc(5), net/tcp: local address, remote address, state (01 = established), queues, timer
    // (02 = keep-alive) and when it fires, in hundredths.
    const timers = (): (string[] | undefined)[] =>
      readFileSync("/proc/net/tcp", "utf8")
        .split("\n")
        .map((line) => line.trim().split(/\s+/))
        .filter(
          ([, local, , state]) =>
            local === `0100007F:${port.toString(16).toUpperCase().padStart(4, "0")}` && state === "01",
        )
        .map(([, , , , , timer]) => timer?.split(":"));
    // Until the peer's kernel has confirmed the answer, the one timer of a connection is that of
    // retransmission (01).
    const firesIn = await eventually("the keep-alive timer of the one connection", () => {
      const found = timers();
      expect(found.map((timer) => timer?.[0])).toEqual(["02"]);
      return found[0]?.[1] ?? "";
    });
    expect(parseInt(firesIn, 16)).toBeLessThanOrEqual(6000);
  });
});
