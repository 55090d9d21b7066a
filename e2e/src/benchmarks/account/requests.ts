// The requests of the account service's benchmark, as bytes, and the cookies of its answers.
import { crc32, deflateSync } from "node:zlib";
import type { HttpAnswer } from "./http-load.ts";

const BOUNDARY = "weir-benchmark";
const PASSWORD = "correct horse battery";

/** Side of the avatars, in pixels. */
const AVATAR_SIDE = 64;

/** The e-mail address of a user of the benchmark. */
function emailOf(user: number): string {
  return `user-${user}@benchmark.example`;
}

/** A registration with an avatar. */
export function registerRequest(user: number): Buffer {
  const field = (name: string, value: string): string =>
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const body = Buffer.concat([
    Buffer.from(
      field("email", emailOf(user)) +
        field("password", PASSWORD) +
        `--${BOUNDARY}\r\nContent-Disposition: form-data; name="avatar"; filename="a.png"\r\nContent-Type: image/png\r\n\r\n`,
    ),
    AVATAR,
    Buffer.from(`\r\n--${BOUNDARY}--\r\n`),
  ]);
  return request("POST", "register", { "Content-Type": `multipart/form-data; boundary=${BOUNDARY}` }, body);
}

/** A login; `from` is the address that a proxy reports. */
export function loginRequest(user: number, from?: string): Buffer {
  return login(user, PASSWORD, from);
}

/** A login with a wrong password, from an address that a proxy reports. */
export function wrongLoginRequest(user: number, from: string): Buffer {
  return login(user, "not the password", from);
}

function login(user: number, password: string, from: string | undefined): Buffer {
  const body = Buffer.from(JSON.stringify({ email: emailOf(user), password }));
  const forwarded = from === undefined ? {} : { "X-Forwarded-For": from };
  return request("POST", "login", { "Content-Type": "application/json", ...forwarded }, body);
}

/** The current user of a session. */
export function currentUserRequest(cookies: ReadonlyMap<string, string>): Buffer {
  return request("GET", "current-user", { Cookie: cookieHeader(cookies) });
}

/** The list of the sessions of a user. */
export function listSessionsRequest(cookies: ReadonlyMap<string, string>): Buffer {
  return request("GET", "sessions", { Cookie: cookieHeader(cookies) });
}

/** A change of the name of a user. */
export function changeNameRequest(cookies: ReadonlyMap<string, string>, name: string): Buffer {
  const headers = { Cookie: cookieHeader(cookies), "Content-Type": "application/json" };
  return request("PATCH", "current-user", headers, Buffer.from(JSON.stringify({ name })));
}

/** A refresh of a session. */
export function refreshRequest(cookies: ReadonlyMap<string, string>): Buffer {
  return request("POST", "refresh-token", { Cookie: cookieHeader(cookies) }, Buffer.alloc(0));
}

/** Takes over the cookies that an answer sets, as a browser does. */
export function takeCookies(cookies: Map<string, string>, { head }: HttpAnswer): void {
  for (const [, name = "", value = ""] of head.matchAll(/\r\nset-cookie: ([^=]+)=([^;\r]*)/gi))
    cookies.set(name, value);
}

function cookieHeader(cookies: ReadonlyMap<string, string>): string {
  return [...cookies].map(([name, value]) => `${name}=${value}`).join("; ");
}

function request(method: string, call: string, headers: Readonly<Record<string, string>>, body?: Buffer): Buffer {
  const length = body === undefined ? {} : { "Content-Length": String(body.length) };
  const lines = Object.entries({ Host: "localhost", ...headers, ...length }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const head = `${method} /api/v1/user/${call} HTTP/1.1\r\n${lines.join("")}\r\n`;
  return body === undefined ? Buffer.from(head) : Buffer.concat([Buffer.from(head), body]);
}

/** A PNG image without structure, so that it does not shrink to nothing. */
const AVATAR = makePng(AVATAR_SIDE);

function makePng(side: number): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([8, 2], 8); // 8 bits per channel, RGB.
  const rows = Buffer.alloc(side * (1 + 3 * side));
  for (let index = 0; index < rows.length; index += 1)
    rows[index] = index % (1 + 3 * side) === 0 ? 0 : (index * 2_654_435_761) >>> 24;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows)),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** Length, type, data and checksum (PNG specification, section 5.3). */
function chunk(type: string, data: Buffer): Buffer {
  const typed = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, checksum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  checksum.writeUInt32BE(crc32(typed));
  return Buffer.concat([length, typed, checksum]);
}
