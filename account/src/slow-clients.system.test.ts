// Clients that never close their side, against the program with its own limits: for how long they can
// keep others out, and that a slow client is none of them.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { eventually } from "@weir/harness/processes/eventually";
import { describe, expect, it } from "vitest";
import { png } from "./media/sample-images.suite.ts";
import type { Program } from "@weir/harness/processes/start-process";
import { metricsOf, Programs, ready } from "./program.suite.ts";
import { formBody, formCall } from "./running-service.suite.ts";

/** Longest test: a slow upload takes 36 s on a machine with nothing else to do. */
const TEST_TIMEOUT_MS = 110_000;

/** A program, and connections to it. */
class Fixture {
  readonly #programs = new Programs();
  readonly #held: Socket[] = [];
  readonly program: Program;
  url = "";

  constructor(env: Readonly<Record<string, string>>, limits?: { readonly descriptors: number }) {
    this.program = this.#programs.start(env, limits);
  }

  /** Connects, sends bytes, and never closes: not even when the service has ended its side. */
  hold(bytes: string | Buffer): Promise<Socket> {
    const { hostname, port } = new URL(this.url);
    const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
    this.#held.push(socket);
    socket.on("error", () => undefined); // The service may close it; the tests look at others.
    socket.resume();
    return new Promise((resolve) => {
      socket.write(bytes, () => resolve(socket));
      socket.once("close", () => resolve(socket));
    });
  }

  async stop(): Promise<void> {
    for (const socket of this.#held) socket.destroy();
    await this.#programs.stop();
  }
}

/** Runs a test against a program of its own, so that the tests, which mostly wait, run together. */
async function against(fixture: Fixture, test: (fixture: Fixture) => Promise<void>): Promise<void> {
  try {
    fixture.url = await ready(fixture.program);
    await test(fixture);
  } finally {
    await fixture.stop();
  }
}

const REGISTER =
  "POST /api/v1/user/register HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=WeirTestBoundary\r\n";

function formOf(email: string, avatar: Buffer): Buffer {
  return formBody([
    { name: "email", value: email },
    { name: "password", value: "correct horse battery" },
    { name: "avatar", value: avatar, fileName: "a.png" },
  ]);
}

function register(url: string, email: string, avatar = PHOTOGRAPH): Promise<Response> {
  const { headers } = formCall([]);
  const init = { method: "POST", headers: headers as Record<string, string> };
  return fetch(`${url}/api/v1/user/register`, { ...init, body: new Uint8Array(formOf(email, avatar)) });
}

/** Size of the part that each silent upload sends: 56 uploads leave no space for a photograph. */
const PART_BYTES = 614_400;
const PHOTOGRAPH = png({ after: Buffer.alloc(1_000_000) });

/** Seconds until `attempt` succeeds. */
async function secondsUntil(what: string, attempt: () => Promise<void>): Promise<number> {
  const startedMs = performance.now();
  await eventually(what, attempt, 58_000);
  return (performance.now() - startedMs) / 1000;
}

describe.concurrent("clients that never close", { timeout: TEST_TIMEOUT_MS }, () => {
  it("keep others out for at most 20 s with 50 unfinished headers on 50 connections", () =>
    against(new Fixture({ CONNECTIONS_MAX: "50" }), async (fixture) => {
      const { url } = fixture;
      await Promise.all(Array.from({ length: 50 }, () => fixture.hold("GET /healthz HTTP/1.1\r\nHost: x\r\nX-A: ")));
      await expect(fetch(`${url}/healthz`)).rejects.toThrow();
      const seconds = await secondsUntil("/healthz to be served", async () => {
        expect((await fetch(`${url}/healthz`)).status).toBe(200);
      });
      expect(seconds).toBeLessThan(20);
    }));

  it("keep registrations out for at most 35 s with 56 uploads that fall silent", () =>
    against(new Fixture({}), async (fixture) => {
      const { url } = fixture;
      const head = `${REGISTER}Content-Length: 2000000\r\n\r\n`;
      const part = "x".repeat(PART_BYTES);
      await Promise.all(Array.from({ length: 56 }, () => fixture.hold(head + part)));
      await eventually("the uploads to fill the memory that they may take", async () => {
        const another = await fixture.hold("");
        const answer = Promise.race([once(another, "data"), delay(1000)]); // One with a place adds to the others.
        another.write(head + part);
        expect(String(await answer)).toContain(" 503 ");
      });
      const seconds = await secondsUntil("a registration to succeed", async () => {
        expect((await register(url, "late@x.com")).status).toBe(201);
      });
      expect(seconds).toBeLessThan(35);
    }));

  it("do not disturb probes and images of others when 150 connections meet 120 file descriptors", () =>
    against(new Fixture({}, { descriptors: 120 }), async (fixture) => {
      const { url, program } = fixture;
      const { user } = (await (await register(url, "a@x.com")).json()) as { user: { avatar: string } };
      const { pathname } = new URL(user.avatar);
      const caller = await fixture.hold(""); // One that was there before, as the connections of proxies are.
      let received = "";
      caller.setEncoding("latin1").on("data", (text: string) => (received += text));
      caller.write("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n");
      await eventually("an answer", () => expect(received).toContain("200 OK"));
      await Promise.all(Array.from({ length: 150 }, () => fixture.hold("GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")));
      await eventually("a line about refused connections", () =>
        expect(program.text()).toContain("Refused connections"),
      );
      expect((await fetch(new URL("/readyz", metricsOf(program)))).status).toBe(200);
      for (const path of [pathname, "/healthz", "/readyz"]) caller.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
      await eventually("three more answers", () => expect(received.match(/HTTP\/1\.1 200 OK/g)).toHaveLength(4));
    }));
});

describe.concurrent("a slow client", { timeout: TEST_TIMEOUT_MS }, () => {
  it("registers with 1.75 MB at 400 kbit/s, which takes longer than silence may", () =>
    against(new Fixture({}), async (fixture) => {
      const body = formOf("slow@x.com", png({ after: Buffer.alloc(1_750_000) }));
      const socket = await fixture.hold(`${REGISTER}Content-Length: ${body.length}\r\n\r\n`);
      let received = "";
      socket.setEncoding("latin1").on("data", (text: string) => (received += text));
      let sent = 0;
      const timer = setInterval(() => {
        socket.write(body.subarray(sent, sent + 5000)); // 5,000 bytes in 100 ms are 400 kbit/s.
        sent += 5000;
        if (sent >= body.length) clearInterval(timer);
      }, 100);
      await eventually("an answer", () => expect(received).toMatch(/^HTTP\/1\.1 201 /), 100_000);
    }));
});
