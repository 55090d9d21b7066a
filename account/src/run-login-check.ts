// Runs `weir-account check-login URL`: makes the calls of a browser with a running service, for `helm test`
// and after a deployment.
import { createSecretKey } from "node:crypto";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { describeError } from "@weir/common/errors/service-error";
import { ACCOUNT_ROUTES } from "./api/routes.ts";
import type { Settings } from "./settings/settings.ts";
import { LOGIN_CHECK_EMAIL, loginCheckPassword } from "./sessions/login-check-user.ts";

/** Longest wait for an answer, in milliseconds: images and hashes wait for their turn. */
const ANSWER_TIMEOUT_MS = 30_000;

/** The avatar: a PNG of 16 pixels on each side, the smallest that is taken. */
const AVATAR = Buffer.from(
  "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAAFklEQVR42mOQz99EEmIY1TCqYfhqAACMt0AQ/AdTqQAAAABJRU5ErkJggg==",
  "base64",
);

/**
 * Registers the user unless it exists, logs in, asks for the current user, refreshes, logs out, and checks that the
 * session has ended. Resolves to the exit code.
 */
export async function runLoginCheck(
  { labelSecret, publicOrigin }: Pick<Settings, "labelSecret" | "publicOrigin">,
  url: string,
  context: Pick<ProgramContext, "stdout" | "stderr" | "signal">,
): Promise<number> {
  if (labelSecret === undefined) {
    context.stderr("weir-account: Cannot check the login: ACCOUNT_LABEL_SECRET is not set\n");
    return 1;
  }
  const password = loginCheckPassword(createSecretKey(labelSecret.reveal(), "utf8"));
  const browser = new Browser(url, publicOrigin, context.signal);
  try {
    for (const step of stepsOf(password)) {
      const { status, body } = await browser.call(step);
      const isExpected = step.statuses.includes(status);
      context.stdout(`${step.name}: ${status}\n`);
      if (isExpected) continue;
      context.stderr(`weir-account: Cannot check the login: ${step.name} answered ${status}: ${body}\n`);
      return 1;
    }
  } catch (error) {
    context.stderr(`weir-account: Cannot check the login at ${url}: ${describeError(error)}\n`);
    return 1;
  }
  return 0;
}

interface Step {
  readonly name: keyof typeof ACCOUNT_ROUTES;
  readonly body?: FormData | string;
  /** The statuses that show that the service works. */
  readonly statuses: readonly number[];
}

function stepsOf(password: string): readonly Step[] {
  const form = new FormData();
  form.append("email", LOGIN_CHECK_EMAIL);
  form.append("password", password);
  form.append("name", "Login check");
  form.append("avatar", new Blob([AVATAR], { type: "image/png" }), "avatar.png");
  return [
    { name: "register", body: form, statuses: [201, 409] }, // The user of an earlier check exists.
    { name: "login", body: JSON.stringify({ email: LOGIN_CHECK_EMAIL, password }), statuses: [200] },
    { name: "currentUser", statuses: [200] },
    { name: "refreshToken", statuses: [200] },
    { name: "logout", statuses: [200] },
    { name: "currentUser", statuses: [401] },
  ];
}

/** Calls with the cookies of earlier answers, as a browser does. */
class Browser {
  readonly #url: string;
  readonly #origin: string | undefined;
  readonly #signal: AbortSignal;
  readonly #cookies = new Map<string, string>();

  constructor(url: string, origin: string | undefined, signal: AbortSignal) {
    this.#url = url;
    this.#origin = origin;
    this.#signal = signal;
  }

  async call({ name, body }: Step): Promise<{ readonly status: number; readonly body: string }> {
    const { method, path } = ACCOUNT_ROUTES[name];
    const headers = new Headers();
    if (this.#cookies.size > 0) headers.set("Cookie", [...this.#cookies].map((pair) => pair.join("=")).join("; "));
    if (this.#origin !== undefined) headers.set("Origin", this.#origin);
    if (typeof body === "string") headers.set("Content-Type", "application/json");
    const response = await fetch(new URL(path, this.#url), {
      method: method.toUpperCase(),
      headers,
      ...(body !== undefined && { body }),
      signal: AbortSignal.any([this.#signal, AbortSignal.timeout(ANSWER_TIMEOUT_MS)]),
    });
    for (const cookie of response.headers.getSetCookie()) {
      const [, cookieName = "", value = ""] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      this.#cookies.set(cookieName, value);
    }
    return { status: response.status, body: await response.text() };
  }
}
