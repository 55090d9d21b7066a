// Forms that are broken, too large or hostile, against the real service. After each the service
// still registers a user.
import { connect, type Socket } from "node:net";
import { readdirSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import { join } from "node:path";
import sharp from "sharp";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { bombs, jpegOfScans } from "../media/images/image-corpus.suite.ts";
import { png } from "../media/sample-images.suite.ts";
import {
  type Answer,
  formBody,
  formCall,
  type Part,
  type RunningService,
  startService,
  USER,
} from "../running-service.suite.ts";

const AVATAR: Part = { name: "avatar", value: png(), fileName: "a.png", type: "image/png" };
const TEXT: readonly Part[] = [
  { name: "email", value: USER.email },
  { name: "password", value: USER.password },
];

let service: RunningService;

beforeEach(async () => {
  service = await startService();
});

afterEach(() => service.stop());

function send(body: string | Buffer, contentType: string): Promise<Answer> {
  return service.call({
    method: "POST",
    path: "/api/v1/user/register",
    headers: { "Content-Type": contentType },
    body,
  });
}

function sendParts(parts: readonly Part[]): Promise<Answer> {
  return service.call(formCall(parts));
}

function fields(answer: Answer): readonly string[] {
  return (answer.json["errors"] as readonly { readonly field: string; readonly code: string }[]).map(
    ({ field, code }) => `${field}: ${code}`,
  );
}

/** A part head with whatever headers. */
function part(headers: string, value = "x"): string {
  return `--WeirTestBoundary\r\n${headers}\r\n\r\n${value}\r\n`;
}

const GOOD = formBody([...TEXT, AVATAR]);
const CONTENT_TYPE = "multipart/form-data; boundary=WeirTestBoundary";
const END = "--WeirTestBoundary--\r\n";

describe("broken forms", () => {
  it.each([
    {
      name: "no boundary",
      body: GOOD,
      contentType: "multipart/form-data",
      status: 400,
      code: "malformed_multipart",
    },
    {
      name: "an empty boundary",
      body: GOOD,
      contentType: "multipart/form-data; boundary=",
      status: 400,
      code: "malformed_multipart",
    },
    { name: "JSON", body: "{}", contentType: "application/json", status: 415, code: "unsupported_media_type" },
    {
      name: "another boundary",
      body: GOOD,
      contentType: "multipart/form-data; boundary=other",
      status: 400,
      code: "malformed_multipart",
    },
    {
      name: "line ends of one character",
      body: GOOD.toString("latin1").replaceAll("\r\n", "\n"),
      contentType: CONTENT_TYPE,
      status: 400,
      code: "malformed_multipart",
    },
    { name: "nothing", body: "", contentType: CONTENT_TYPE, status: 400, code: "malformed_multipart" },
    {
      name: "an end inside the file",
      body: GOOD.subarray(0, GOOD.length - 60),
      contentType: CONTENT_TYPE,
      status: 400,
      code: "malformed_multipart",
    },
    {
      name: "an end inside a part's header",
      body: "--WeirTestBoundary\r\nContent-Disposition: form-data; na",
      contentType: CONTENT_TYPE,
      status: 400,
      code: "malformed_multipart",
    },
    {
      name: "a header of 20 KB",
      body: part(`Content-Disposition: form-data; name="email"\r\nX-Long: ${"y".repeat(20_000)}`) + END,
      contentType: CONTENT_TYPE,
      status: 400,
      code: "malformed_multipart",
    },
    {
      name: "a part without name",
      body: Buffer.concat([Buffer.from(part("Content-Disposition: form-data")), GOOD]),
      contentType: CONTENT_TYPE,
      status: 400,
      code: "malformed_multipart",
    },
    {
      name: "a part without Content-Disposition",
      body: Buffer.concat([Buffer.from(part("X-Other: y")), GOOD]),
      contentType: CONTENT_TYPE,
      status: 400,
      code: "malformed_multipart",
    },
    {
      name: "a delimiter with more on its line",
      body: Buffer.concat([
        Buffer.from(part('Content-Disposition: form-data; name="name"', "Ada\r\n--WeirTestBoundaryX\r\nKing")),
        GOOD,
      ]),
      contentType: CONTENT_TYPE,
      status: 400,
      code: "malformed_multipart",
    },
    {
      name: "an avatar in base64",
      body:
        part(
          'Content-Disposition: form-data; name="avatar"; filename="a.png"\r\nContent-Transfer-Encoding: base64',
          png().toString("base64"),
        ) + END,
      contentType: CONTENT_TYPE,
      status: 400,
      code: "malformed_multipart",
    },
  ])("answer $status $code for $name", async ({ body, contentType, status, code }) => {
    const answer = await send(body, contentType);
    expect([answer.status, answer.json["code"]]).toEqual([status, code]);
    expect(answer.json["message"]).not.toBe("");
    expect((await service.register()).status).toBe(201);
  });

  it("answers 415 without any Content-Type", async () => {
    const answer = await service.call({ method: "POST", path: "/api/v1/user/register", body: GOOD });
    expect(answer.status).toBe(415);
  });

  it.each(["end", "resetAndDestroy"] as const)(
    "survive a connection that closes inside the file by %s",
    async (how) => {
      const socket = connect(service.port, "127.0.0.1");
      socket.on("error", () => undefined); // The reset is meant.
      const head = `POST /api/v1/user/register HTTP/1.1\r\nHost: x\r\nContent-Type: ${CONTENT_TYPE}\r\nContent-Length: ${GOOD.length}\r\n\r\n`;
      await new Promise((resolve) =>
        socket.write(Buffer.concat([Buffer.from(head), GOOD.subarray(0, GOOD.length - 60)]), resolve),
      );
      socket[how]();
      await logHas('"route":"/api/v1/user/register"');
      socket.destroy();
      expect((await service.register()).status).toBe(201);
      expect(readdirSync(join(service.directory, "media", "avatars"))).toHaveLength(1);
    },
  );
});

describe("forms with too much", () => {
  it.each([
    {
      name: "1000 fields",
      parts: Array.from({ length: 1000 }, (_, index) => ({ name: `f${index}`, value: "" })),
      code: "too_many_parts",
    },
    { name: "two avatars", parts: [...TEXT, AVATAR, AVATAR], code: "too_many_parts" },
    {
      name: "an e-mail address twice",
      parts: [...TEXT, { name: "email", value: "b@x.com" }, AVATAR],
      code: "duplicate_field",
    },
    {
      name: "a field of 1 MB",
      parts: [{ name: "email", value: "x".repeat(1_000_000) }, AVATAR],
      code: "validation_failed",
    },
  ])("answer 400 $code for $name", async ({ parts, code }) => {
    const answer = await sendParts(parts);
    expect([answer.status, answer.json["code"]]).toEqual([400, code]);
  });

  it("ignore fields with huge and strange names", async () => {
    const strange: readonly Part[] = [
      { name: "n".repeat(10_000), value: "x" },
      { name: "a[99999999999]", value: "x" },
    ];
    expect((await sendParts([...strange, ...TEXT, AVATAR])).status).toBe(201);
  });

  it("takes a field of 4096 bytes as it is and names one of 4097", async () => {
    expect(fields(await sendParts([{ name: "name", value: "x".repeat(4096) }, ...TEXT, AVATAR]))).toEqual([
      "name: invalid_name",
    ]);
    expect(fields(await sendParts([{ name: "name", value: "x".repeat(4097) }, ...TEXT, AVATAR]))).toEqual([
      "name: name_too_long",
    ]);
  });

  it("answer 413 for an avatar of a byte too many, with the front end's headers", async () => {
    const form = formCall([...TEXT, { ...AVATAR, value: Buffer.alloc(2_097_153) }], {
      Origin: "http://localhost:5173",
    });
    const answer = await service.call(form);
    expect([answer.status, answer.json["code"], fields(answer)]).toEqual([
      413,
      "avatar_too_large",
      ["avatar: avatar_too_large"],
    ]);
    expect(answer.headers["access-control-allow-origin"]).toBe("http://localhost:5173");
  });

  it("take an avatar of exactly the limit as far as its bytes", async () => {
    const answer = await sendParts([...TEXT, { ...AVATAR, value: Buffer.alloc(2_097_152) }]);
    expect([answer.status, answer.json["code"]]).toEqual([415, "avatar_type"]);
  });

  it("answer 413 immediately for a body that announces 10 GB", async () => {
    const socket = connect(service.port, "127.0.0.1");
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    socket.write(
      `POST /api/v1/user/register HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\nContent-Type: ${CONTENT_TYPE}\r\nContent-Length: 10737418240\r\n\r\n`,
    );
    await expect.poll(() => received, { timeout: 5000 }).toContain('"code":"avatar_too_large"');
    expect(received).toMatch(/^HTTP\/1\.1 413 /); // The client is not asked for the body.
    socket.destroy();
  });

  it("answer 413 to a client that reads only when it has sent 20 MB, as browsers do", async () => {
    const socket = connect(service.port, "127.0.0.1");
    const body = Buffer.alloc(20_000_000, "x");
    const head = `POST /api/v1/user/register HTTP/1.1\r\nHost: x\r\nOrigin: http://localhost:5173\r\nContent-Type: ${CONTENT_TYPE}\r\nContent-Length: ${body.length}\r\n\r\n`;
    socket.write(head);
    await new Promise((resolve) => socket.write(body, resolve));
    let received = "";
    socket.setEncoding("latin1").on("data", (text: string) => (received += text));
    await new Promise((resolve) => socket.on("close", resolve));
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    expect(received).toContain("Access-Control-Allow-Origin: http://localhost:5173");
    expect(JSON.parse(received.slice(received.indexOf("\r\n\r\n") + 4))).toMatchObject({
      message: "The avatar must have at most 2 MiB.",
      errors: [{ field: "avatar", code: "avatar_too_large", message: "The avatar must have at most 2 MiB." }],
    });
  });

  it("answer 413 for a body that does not end", async () => {
    const socket = connect(service.port, "127.0.0.1");
    socket.on("error", () => undefined); // The service may close while the test still writes.
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    const closed = new Promise((resolve) => socket.on("close", resolve));
    socket.write(
      `POST /api/v1/user/register HTTP/1.1\r\nHost: x\r\nContent-Type: ${CONTENT_TYPE}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const head = Buffer.from(part('Content-Disposition: form-data; name="junk"; filename="j"', "").slice(0, -2));
    const chunk = (data: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`${data.length.toString(16)}\r\n`), data, Buffer.from("\r\n")]);
    socket.write(chunk(head));
    const endless = setInterval(() => socket.write(chunk(Buffer.alloc(262_144))), 2);
    await closed;
    clearInterval(endless);
    expect(received).toMatch(/^HTTP\/1\.1 413 /);
    expect(received).toContain('"code":"avatar_too_large"');
  });
});

describe("forms that arrive slowly", () => {
  const held: Socket[] = [];

  afterEach(() => {
    for (const socket of held.splice(0)) socket.destroy();
  });

  /** Begins a form of `bytes`, of which the last one never comes. */
  async function begin(bytes: number): Promise<void> {
    const socket = connect(service.port, "127.0.0.1");
    held.push(socket);
    socket.on("error", () => undefined); // An answer while it still sends ends it; the test looks at the others.
    const head = `POST /api/v1/user/register HTTP/1.1\r\nHost: x\r\nContent-Type: ${CONTENT_TYPE}\r\nContent-Length: ${bytes}\r\n\r\n`;
    // Text before the first boundary means nothing and counts all the same.
    await new Promise((resolve) => socket.write(head + "x".repeat(bytes - 1), resolve));
  }

  it("keep no other caller out", async () => {
    await Promise.all(Array.from({ length: 40 }, () => begin(1000)));
    expect((await service.register()).status).toBe(201);
  });

  it("are answered 503 busy when they hold more than 16 largest forms, until they are gone", async () => {
    await service.restart({ AVATAR_MAX_BYTES: "1024" });
    const largest = 1024 + 64 * 1024;
    await Promise.all(Array.from({ length: 16 }, () => begin(largest)));
    await expect.poll(async () => (await service.register()).status, { timeout: 40_000 }).toBe(503);
    const refused = await service.register();
    expect([refused.json["code"], refused.headers["retry-after"]]).toEqual(["busy", "1"]);
    for (const socket of held.splice(0)) socket.destroy();
    await expect
      .poll(async () => (await service.register({ ...USER, email: "b@x.com" })).status, { timeout: 40_000 })
      .not.toBe(503);
  });
});

describe("avatars", () => {
  it.each([
    {
      name: "an avatar as text",
      parts: [...TEXT, { name: "avatar", value: "x" }],
      status: 400,
      field: "avatar: invalid_avatar",
    },
    {
      name: "an e-mail address as file",
      parts: [{ name: "email", value: "a@x.com", fileName: "e" }, AVATAR],
      status: 400,
      field: "email: invalid_email",
    },
    {
      name: "text that calls itself bytes",
      parts: [{ name: "email", value: "a@x.com", type: "application/octet-stream" }, AVATAR],
      status: 400,
      field: "email: invalid_email",
    },
    { name: "no avatar", parts: TEXT, status: 400, field: "avatar: avatar_required" },
    {
      name: "an avatar of no bytes",
      parts: [...TEXT, { ...AVATAR, value: "" }],
      status: 400,
      field: "avatar: avatar_required",
    },
    {
      name: "an SVG",
      parts: [...TEXT, { ...AVATAR, value: "<svg onload=alert(1)>" }],
      status: 415,
      field: "avatar: avatar_type",
    },
    {
      name: "a GIF that is a script",
      parts: [...TEXT, { ...AVATAR, value: "GIF89a=1;alert(1);//" }],
      status: 415,
      field: "avatar: avatar_type",
    },
    {
      name: "sides of 60000",
      parts: [...TEXT, { ...AVATAR, value: png({ width: 60000, height: 60000 }) }],
      status: 400,
      field: "avatar: avatar_dimensions",
    },
    {
      name: "half a PNG",
      parts: [...TEXT, { ...AVATAR, value: png().subarray(0, 60) }],
      status: 400,
      field: "avatar: avatar_damaged",
    },
  ])("answer $status $field for $name", async ({ parts, status, field }) => {
    const answer = await sendParts(parts);
    expect([answer.status, fields(answer)]).toEqual([status, [field]]);
  });

  it("are optional when the setting says so, but never of no bytes", async () => {
    await service.restart({ AVATAR_REQUIRED: "false" });
    expect((await sendParts([...TEXT, { ...AVATAR, value: "" }])).status).toBe(400);
    const answer = await sendParts(TEXT);
    expect([answer.status, (answer.json["user"] as Record<string, unknown>)["avatar"]]).toEqual([201, null]);
  });

  it("count as absent when a browser sends its file input without a chosen file", async () => {
    const unchosen = { ...AVATAR, value: "", fileName: "", type: "application/octet-stream" };
    const refused = await sendParts([...TEXT, unchosen]);
    expect([refused.status, fields(refused)]).toEqual([400, ["avatar: avatar_required"]]);
    await service.restart({ AVATAR_REQUIRED: "false" });
    const answer = await sendParts([...TEXT, unchosen]);
    expect([answer.status, (answer.json["user"] as Record<string, unknown>)["avatar"]]).toEqual([201, null]);
  });

  it.each(["../../x.png", "x.php\\0.png", "..\\\\x", "y".repeat(300), "x\u202egnp.exe"])(
    "are stored under a name of our own, whatever %s says",
    async (fileName) => {
      const answer = await sendParts([...TEXT, { ...AVATAR, fileName }]);
      const user = answer.json["user"] as Record<string, string>;
      expect(new URL(String(user["avatar"])).pathname).toMatch(/^\/media\/avatars\/[0-9a-f-]{36}\/[0-9a-f]{32}\.png$/);
    },
  );

  it("are refused when they are made to be slow, without delaying other calls", async () => {
    const { status } = await service.register(); // The image process has started.
    const answered: number[] = [];
    const files = [
      png({ width: 60_000, height: 60_000 }),
      ...bombs().map(({ bytes }) => bytes),
      await jpegOfScans(16, 150_000),
    ];
    const register = (value: Buffer, index: number): Promise<Answer> =>
      service.register({ ...USER, email: `hostile${index}@x.com` }, [{ ...AVATAR, value }]);
    const hostile = Promise.all(files.map(register)).finally(() => answered.push(0));
    while (answered.length === 0) {
      const startedAt = performance.now();
      expect((await service.call({ path: "/healthz" })).status).toBe(200);
      expect(performance.now() - startedAt).toBeLessThan(3000); // Milliseconds, on a machine of its own.
    }
    const statuses = (await hostile).map((answer) => answer.status);
    expect([status, statuses[0]]).toEqual([201, 400]);
    // 201: a picture with much text is one; 429: one before had to be stopped.
    for (const each of statuses) expect([201, 400, 415, 429]).toContain(each);
    expect([400, 429]).toContain(statuses.at(-1));
  });

  it("are stored without the bytes behind their end", async () => {
    const answer = await sendParts([...TEXT, { ...AVATAR, value: png({ after: Buffer.from("PK<html>") }) }]);
    const { pathname } = new URL(String((answer.json["user"] as Record<string, string>)["avatar"]));
    const { text } = await service.call({ path: pathname });
    expect([text.startsWith("\x89PNG"), text.endsWith("IEND\xaeB`\x82"), text.includes("html")]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it("are served by what they are, not by what they were called", async () => {
    const jpeg = await sharp(png()).jpeg().toBuffer();
    const answer = await sendParts([...TEXT, { ...AVATAR, value: jpeg }]);
    const { pathname } = new URL(String((answer.json["user"] as Record<string, string>)["avatar"]));
    expect(pathname).toMatch(/\.jpg$/);
    expect((await service.call({ path: pathname })).headers["content-type"]).toBe("image/jpeg");
  });
});

/** Waits until a line of the log holds the text. */
async function logHas(text: string): Promise<void> {
  const deadlineMs = performance.now() + 40_000;
  while (!service.logLines.some((line) => line.includes(text))) {
    if (performance.now() > deadlineMs) throw new Error(`the log never holds ${text}`);
    await sleep(10);
  }
}
