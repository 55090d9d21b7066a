// Broken, slow and hostile connections to the real service, local images, health and metrics.
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type RunningService, startService, USER } from "../running-service.suite.ts";

/** Short enough for a test that waits for them, in the proportions of the service. */
const PATIENCE = {
  timeouts: { headersMs: 600, checkIntervalMs: 100 },
  bodyPace: { firstByteMs: 600, windowMs: 600, windowBytes: 4800, totalMs: 60_000 },
};

const LISTED = "http://localhost:5173";

let service: RunningService;

beforeEach(async () => {
  service = await startService();
});

afterEach(() => service.stop());

/** Replaces the service by one with short timeouts. */
async function startImpatient(): Promise<void> {
  await service.stop();
  service = await startService({}, PATIENCE);
}

const LOGIN_HEAD = `POST /api/v1/user/login HTTP/1.1\r\nHost: x\r\nOrigin: ${LISTED}\r\nContent-Type: application/json\r\n`;

describe("broken requests", () => {
  it.each([
    {
      name: "a length and chunks",
      head: `${LOGIN_HEAD}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`,
      status: 400,
    },
    { name: "two lengths", head: `${LOGIN_HEAD}Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcde`, status: 400 },
    { name: "no host", head: "GET /api/v1/user/current-user HTTP/1.1\r\n\r\n", status: 400 },
    { name: "two hosts", head: "GET /healthz HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", status: 400 },
    { name: "a folded header", head: "GET / HTTP/1.1\r\nHost: x\r\nX-A: a\r\n b\r\n\r\n", status: 400 },
    { name: "a bare line feed", head: "GET / HTTP/1.1\nHost: x\n\n", status: 400 },
    { name: "a blank before the colon", head: "GET / HTTP/1.1\r\nHost: x\r\nX-A : a\r\n\r\n", status: 400 },
    { name: "a control character", head: "GET / HTTP/1.1\r\nHost: x\r\nX-A: a\u0001b\r\n\r\n", status: 400 },
    {
      name: "a cookie of 20 KB",
      head: `GET / HTTP/1.1\r\nHost: x\r\nCookie: a=${"b".repeat(20_000)}\r\n\r\n`,
      status: 431,
    },
    { name: "no HTTP at all", head: "hello\r\n\r\n", status: 400 },
  ])("are answered with $status and a message: $name", async ({ head, status }) => {
    const answer = await service.raw(head);
    expect(answer).toMatch(new RegExp(`^HTTP/1\\.1 ${status} `));
    const body = JSON.parse(answer.slice(answer.indexOf("\r\n\r\n") + 4)) as Record<string, unknown>;
    expect([body["status"], typeof body["message"], typeof body["requestId"], body["errors"]]).toEqual([
      status,
      "string",
      "string",
      [],
    ]);
    expect(answer).toContain("X-Content-Type-Options: nosniff");
  });

  it.each([
    { name: "headers that drip", head: "GET / HTTP/1.1\r\nHost: x\r\nX-A: " },
    { name: "a body that drips", head: `${LOGIN_HEAD}Content-Length: 500\r\n\r\n{"email":` },
    {
      name: "a form that drips",
      head: `POST /api/v1/user/register HTTP/1.1\r\nHost: x\r\nOrigin: ${LISTED}\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: 50000\r\n\r\n--b\r\n`,
    },
  ])("are ended with 408: $name", async ({ head }) => {
    await startImpatient();
    const answer = await drip(head);
    expect(answer).toMatch(/^HTTP\/1\.1 408 /);
    expect(answer).toContain('"code":"request_timeout"');
    // Only of a request with its whole header is the origin known.
    expect(answer.includes(`Access-Control-Allow-Origin: ${LISTED}`)).toBe(head.includes("Origin"));
    expect((await service.register()).status).toBe(201);
  });

  it("a page can read why bytes in the middle of its body are refused", async () => {
    const answer = await service.raw(`${LOGIN_HEAD}Transfer-Encoding: chunked\r\n\r\nno chunk\r\n`);
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain(`Access-Control-Allow-Origin: ${LISTED}`);
  });

  it("an Expect header that means nothing is ignored, and not refused without a message", async () => {
    const answer = await service.raw(
      `${LOGIN_HEAD}Expect: wonders\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}`,
    );
    expect(answer).toMatch(/^HTTP\/1\.1 400 /);
    expect(answer).toContain('"code":"validation_failed"');
  });

  it.each(["/healthz", "/nowhere", "/api/v1/user/login"])(
    "keep the connection open when %s is answered immediately",
    async (path) => {
      const answer = await service.call({ path, headers: { Connection: "keep-alive" } });
      expect(answer.headers.connection).toBe("keep-alive");
    },
  );

  it("do not bring their own id into answers", async () => {
    for (const id of ["x".repeat(1024), "short", "with blank id", "a;b=c,d-e-f-g"]) {
      const answer = await service.call({ path: "/healthz", headers: { "X-Request-Id": id } });
      expect(answer.headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    }
    expect(
      (await service.call({ path: "/healthz", headers: { "X-Request-Id": "trace-0123.A_b" } })).headers["x-request-id"],
    ).toBe("trace-0123.A_b");
  });

  it("idle connections are closed and others are served meanwhile", async () => {
    await startImpatient();
    const sockets = await Promise.all(Array.from({ length: 200 }, () => open()));
    const closed = Promise.all(
      sockets.map(async (socket) => {
        if (!socket.destroyed) await once(socket, "close"); // On a busy machine some are closed already.
      }),
    );
    expect((await service.call({ path: "/healthz" })).status).toBe(200);
    await closed;
  });

  it("connections beyond the cap are closed immediately", async () => {
    await service.restart({ CONNECTIONS_MAX: "2" });
    const first = [await open(), await open()];
    await expect(service.raw("GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")).resolves.toBe("");
    for (const socket of first) socket.destroy();
  });
});

describe("images", () => {
  let path: string;

  beforeEach(async () => {
    const user = (await service.register()).json["user"] as Record<string, string>;
    path = new URL(String(user["avatar"])).pathname;
  });

  it.each([
    "/media/../../etc/passwd",
    "/media/..%2f..%2fetc%2fpasswd",
    "/media/%2e%2e%2f%2e%2e%2fetc%2fpasswd",
    "/media/..\\..\\etc\\passwd",
    "/media//etc/passwd",
    "/media/avatars",
    "/media/avatars/",
    "/media/",
    "/media/%",
    "/media/avatars/%00",
    "/media/../accounts.sqlite",
  ])("are not found under %s", async (wrong) => {
    const answer = await service.call({ path: wrong });
    expect([answer.status, answer.headers["x-content-type-options"]]).toEqual([404, "nosniff"]);
  });

  it("are not found with a query or an encoded path", async () => {
    expect((await service.call({ path: `${path}?x` })).status).toBe(404);
    expect((await service.call({ path: path.replace("avatars", "%61vatars") })).status).toBe(404);
  });

  it("answer HEAD with the length and no bytes", async () => {
    const answer = await service.call({ method: "HEAD", path });
    expect([answer.status, answer.text, answer.headers["content-type"]]).toEqual([200, "", "image/png"]);
    expect(Number(answer.headers["content-length"])).toBeGreaterThan(50);
  });
});

describe("failures of the store", () => {
  it("a folder that cannot be written refuses the registration, stores no user, and recovers", async () => {
    const media = join(service.directory, "media");
    writeFileSync(media, "in the way");
    const answer = await service.register();
    expect([answer.status, answer.json["code"], answer.headers["retry-after"]]).toEqual([
      503,
      "media_store_unavailable",
      "2",
    ]);
    expect((await service.login()).status).toBe(401);
    rmSync(media);
    mkdirSync(media);
    expect((await service.register()).status).toBe(201);
    expect(service.logLines.filter((line) => line.includes("media_store_unavailable"))).toHaveLength(1);
  });
});

describe("health and metrics", () => {
  it("show no versions and no hosts on the public port", async () => {
    expect((await service.call({ path: "/healthz" })).json).toEqual({ status: "alive" });
    expect((await service.call({ path: "/readyz" })).json).toEqual({ status: "ready" });
  });

  it("show every series from the start and count what happens", async () => {
    const before = await metrics();
    for (const call of ["registrations", "login", "refresh"])
      for (const result of ["invalid", "throttled", "busy", "fault"])
        expect(before).toContain(`${call}_total{result="${result}"} 0`);
    expect(before).toContain('login_total{result="success"} 0');
    expect(before).toContain('refresh_total{result="issued"} 0');
    expect(before).toContain('http_requests_total{route="/api/v1/user/login",method="POST",status="200"} 0');
    expect(before).toContain("bcrypt_queue_depth 0");
    await service.register();
    await service.session();
    await service.login({ ...USER, password: "wrong" });
    await service.login({});
    await service.register();
    await service.register({});
    await service.call({ method: "POST", path: "/api/v1/user/refresh-token" });
    await service.call({ path: "/some/path/made/up" });
    const after = await metrics();
    expect(after).toContain('login_total{result="success"} 1');
    expect(after).toContain('login_total{result="invalid_credentials"} 1');
    expect(after).toContain('login_total{result="invalid"} 1');
    expect(after).toContain('refresh_total{result="invalid"} 1');
    expect(after).toContain('registrations_total{result="success"} 1');
    expect(after).toContain('registrations_total{result="email_taken"} 1');
    expect(after).toContain('registrations_total{result="invalid"} 1');
    expect(after).toContain("media_put_seconds_count 1");
    expect(after).toContain("bcrypt_seconds_count 3");
    expect(after).toContain('http_requests_total{route="unknown",method="GET",status="404"} 1');
    expect(after).not.toContain("made/up");
    expect((await fetch(`${service.metricsUrl}/readyz`)).status).toBe(200);
  });
});

async function metrics(): Promise<string> {
  return (await fetch(`${service.metricsUrl}/metrics`)).text();
}

function open(): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(service.port, "127.0.0.1", () => {
      resolve(socket);
    });
    socket.on("error", () => undefined); // Being cut off is what these tests are about.
    socket.resume();
  });
}

/** Sends a start and then single bytes, until the service closes. */
function drip(start: string): Promise<string> {
  return new Promise((resolve) => {
    let timer: NodeJS.Timeout | undefined;
    const socket = connect(service.port, "127.0.0.1", () => {
      socket.write(start);
      timer = setInterval(() => socket.write("a"), 50);
    });
    let received = "";
    socket.on("error", () => undefined); // Bytes on their way when the service closes.
    socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    socket.on("close", () => {
      clearInterval(timer);
      resolve(received);
    });
  });
}
