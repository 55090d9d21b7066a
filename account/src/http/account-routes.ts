// The handlers of the five calls: they pass requests to users/, and write its results as answers
// with cookies.
import type { Request, RequestHandler, Response } from "express";
import { UploadBudget } from "../fairness/upload-budget.ts";
import type { ImageCleaner } from "../media/image.ts";
import { clearCookie, type CookieKind, type CookieOptions, readCookie, serializeCookie } from "../sessions/cookies.ts";
import { DEVICE_COOKIE_SECONDS, isDeviceToken, issueDeviceToken } from "../sessions/device-cookie.ts";
import type { UserRecord } from "../store/user-store.ts";
import { addressCheck, loginCheck, sessionCheck } from "../throttle/limits.ts";
import type { Throttle } from "../throttle/throttle.ts";
import type { AccountDeps, AccountOptions, Caller } from "../users/account-deps.ts";
import { parseCredentials, parseRegistration } from "../users/inputs.ts";
import type { IssuedToken } from "../users/issue-tokens.ts";
import { logIn } from "../users/log-in.ts";
import { busyError } from "../passwords/password-hasher.ts";
import type { PasswordRules } from "../passwords/password-rules.ts";
import { accountLabel, type PublicUser, publicUser } from "../users/public-user.ts";
import { register } from "../users/register.ts";
import type { SessionCookies } from "../users/cookie-claims.ts";
import { refresh } from "../users/refresh.ts";
import { authenticate, authenticateLogOut, logOut } from "../users/session-calls.ts";
import { sendJson } from "./answer.ts";
import { enforceLimits } from "./limit-steps.ts";
import { contextOf } from "./request-context.ts";
import { formMaxBytes, readRegistrationForm } from "./registration-form.ts";

/** How many forms with the largest avatar fit into memory at a time; of smaller ones more. */
const UPLOAD_CONCURRENCY = 16;

/** The dependencies of the calls. */
export interface AccountCallsDeps extends AccountDeps {
  readonly throttle: Pick<Throttle, "decide">;
  readonly images: ImageCleaner;
}

/** The options of the calls. */
export interface AccountRouteOptions extends AccountOptions {
  readonly cookies: CookieOptions;
  /** Whether a refresh cookie alone may log out. */
  readonly logOutAllowsRefresh: boolean;
  readonly avatarMaxBytes: number;
  readonly avatarRequired: boolean;
  /** Awaited once; the list of common passwords loads while the service starts. */
  readonly passwordRules: Promise<PasswordRules>;
}

/** The handlers of the five calls. Each rejects with an `AccountError`; error-answer.ts answers it. */
export class AccountCalls {
  readonly #deps: AccountCallsDeps;
  readonly #options: AccountRouteOptions;
  readonly #uploads: UploadBudget;

  constructor(deps: AccountCallsDeps, options: AccountRouteOptions) {
    this.#deps = deps;
    this.#options = options;
    const uploadMaxBytes = formMaxBytes(options.avatarMaxBytes);
    this.#uploads = new UploadBudget({ maxBytes: UPLOAD_CONCURRENCY * uploadMaxBytes, uploadMaxBytes }, busyError);
  }

  readonly register: RequestHandler = async (request, response) => {
    const { avatarMaxBytes, avatarRequired, passwordRules } = this.#options;
    const { caller } = contextOf(response);
    const call = new AbortController();
    const hold = this.#uploads.open(caller.group.networks, call);
    try {
      const form = await readRegistrationForm(request, { avatarMaxBytes, hold, signal: call.signal });
      const isAvatarMissing =
        (form.avatar === undefined || form.avatar.length === 0) && (avatarRequired || form.avatar !== undefined);
      const missing = isAvatarMissing
        ? [{ field: "avatar", message: "Choose an image as avatar.", code: "avatar_required" }]
        : [];
      const registration = await parseRegistration(form.fields, missing, await passwordRules);
      const user = await register(this.#deps, registration, form.avatar, caller, call);
      response.setHeader("Location", "/api/v1/user/current-user");
      const message = "Your account is ready. Log in to use it.";
      sendJson(response, 201, { message, user: this.#publicUser(user) });
    } finally {
      hold.release();
    }
  };

  readonly login: RequestHandler = async (request, response) => {
    const credentials = parseCredentials(request.body);
    const refreshCookie = readCookie(request.headers.cookie, "refresh", this.#options.cookies);
    const { caller } = contextOf(response);
    await this.#limitLogin(credentials.email.key, caller, request, response);
    const result = await logIn(this.#deps, this.#options, { ...credentials, refreshCookie }, caller);
    const { user, access, refresh: refreshToken } = result;
    response.setHeader("Set-Cookie", [
      ...this.#cookies(access, refreshToken, refreshToken.expiresAtMs),
      this.#deviceCookie(credentials.email.key),
    ]);
    sendJson(response, 200, {
      message: "You are logged in.",
      user: this.#publicUser(user),
      accessTokenExpiresAt: new Date(access.expiresAtMs).toISOString(),
      refreshTokenExpiresAt: new Date(refreshToken.expiresAtMs).toISOString(),
    });
  };

  readonly refreshToken: RequestHandler = async (request, response) => {
    const { caller } = contextOf(response);
    const cookies = this.#readCookies(request);
    await this.#limitRefresh(cookies, caller, response);
    contextOf(response).clearCookiesWhenRefused = true;
    const result = await refresh(this.#deps, this.#options, cookies, caller);
    response.setHeader("Set-Cookie", this.#cookies(result.access, result.refresh, result.refreshExpiresAtMs));
    sendJson(response, 200, {
      message: "Your session is refreshed.",
      accessTokenExpiresAt: new Date(result.access.expiresAtMs).toISOString(),
      refreshTokenExpiresAt: new Date(result.refreshExpiresAtMs).toISOString(),
    });
    this.#deps.events.refreshed(result.result);
  };

  readonly currentUser: RequestHandler = async (request, response) => {
    const { user } = await authenticate(this.#deps, this.#readCookies(request));
    sendJson(response, 200, { user: this.#publicUser(user) });
  };

  readonly logout: RequestHandler = async (request, response) => {
    const { cookies, logOutAllowsRefresh } = this.#options;
    const allowRefresh = { allowRefresh: logOutAllowsRefresh };
    const signedIn = await authenticateLogOut(this.#deps, this.#readCookies(request), allowRefresh);
    await logOut(this.#deps, signedIn, contextOf(response).caller);
    response.setHeader("Set-Cookie", [clearCookie("access", cookies), clearCookie("refresh", cookies)]);
    sendJson(response, 200, { message: "You are logged out." });
  };

  /** Counts the attempt before the password is hashed, alike for accounts that exist and others. */
  #limitLogin(emailKey: string, { group }: Caller, request: Request, response: Response): Promise<void> {
    const { throttle, clock, labelKey } = this.#deps;
    const device = readCookie(request.headers.cookie, "device", this.#options.cookies);
    const isKnown = device.kind === "present" && isDeviceToken(labelKey, emailKey, device.value, clock());
    const check = loginCheck({
      group,
      account: accountLabel(labelKey, emailKey),
      accountAndAddress: accountLabel(labelKey, `${emailKey}|${group.customer}`),
      device: isKnown ? accountLabel(labelKey, `device|${device.value}`) : undefined,
    });
    return enforceLimits(throttle, check, response);
  }

  /** By the session first: what it does too often does not count for the others of its address. */
  async #limitRefresh({ refresh: cookie }: SessionCookies, { group }: Caller, response: Response): Promise<void> {
    const { throttle, tokens, clock, labelKey } = this.#deps;
    const token = cookie.kind === "present" ? await tokens.verifyRefresh(cookie.value, clock()) : undefined;
    if (token?.ok === true) {
      const session = accountLabel(labelKey, `session|${token.claims.sessionId}`);
      await enforceLimits(throttle, sessionCheck(session, group), response);
    }
    await enforceLimits(throttle, addressCheck("refresh", group), response);
  }

  #deviceCookie(emailKey: string): string {
    const token = issueDeviceToken(this.#deps.labelKey, emailKey, this.#deps.clock());
    return serializeCookie("device", token, DEVICE_COOKIE_SECONDS, this.#options.cookies);
  }

  #publicUser(user: UserRecord): PublicUser {
    return publicUser(user, (key) => this.#deps.media.url(key));
  }

  #readCookies({ headers: { cookie } }: Request): SessionCookies {
    const { cookies } = this.#options;
    return {
      access: readCookie(cookie, "access", cookies),
      refresh: readCookie(cookie, "refresh", cookies),
      mustAgree: cookies.scope === "path",
    };
  }

  /**
   * Both cookies live until the refresh token ends. The access token ends before its cookie, so that
   * a browser keeps sending it and receives `token_expired`.
   */
  #cookies(access: IssuedToken, refreshToken: IssuedToken | undefined, endsAtMs: number): string[] {
    const maxAgeSeconds = Math.ceil((endsAtMs - this.#deps.clock()) / 1000);
    const cookie = (kind: CookieKind, { token }: IssuedToken): string =>
      serializeCookie(kind, token, maxAgeSeconds, this.#options.cookies);
    return refreshToken === undefined
      ? [cookie("access", access)]
      : [cookie("access", access), cookie("refresh", refreshToken)];
  }
}
