// The session of a browser with the local server: a token that works once becomes a cookie.
import { randomBytes, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Length of tokens, in bytes. */
const TOKEN_BYTES = 32;

/** The session; `random` gives bytes that cannot be guessed. */
export class Session {
  readonly #cookie: string;
  readonly #name: string;
  #token: string | undefined;

  /** `port` is in the name of the cookie: browsers send cookies of one port to all. */
  constructor(port: number, random: (size: number) => Buffer = randomBytes) {
    this.#name = `weir-console-${port}`;
    this.#token = random(TOKEN_BYTES).toString("base64url");
    this.#cookie = random(TOKEN_BYTES).toString("base64url");
  }

  /** The token, for the URL; undefined when it has been used. */
  get token(): string | undefined {
    return this.#token;
  }

  /** The header that sets the cookie, for the token; undefined: it is another one, or has been used. */
  open(token: string): string | undefined {
    if (this.#token === undefined || !isEqual(token, this.#token)) return undefined;
    this.#token = undefined;
    return `${this.#name}=${this.#cookie}; Path=/; HttpOnly; SameSite=Strict`;
  }

  /** Returns true if the request has the cookie. */
  has({ headers: { cookie = "" } }: Pick<IncomingMessage, "headers">): boolean {
    const values = cookie.split(/; */).flatMap((pair) => {
      const at = pair.indexOf("=");
      return pair.slice(0, at) === this.#name ? [pair.slice(at + 1)] : [];
    });
    return values.some((value) => isEqual(value, this.#cookie));
  }
}

/** Takes equally long for all texts of one length. */
function isEqual(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}
