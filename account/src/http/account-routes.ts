// The handlers of registration and sessions: they pass requests to users/, and write its results as answers
// with cookies. profile-routes.ts has those of signed-in users.
import type { RequestHandler } from "express";
import type { UploadBudget } from "../fairness/upload-budget.ts";
import type { ImageCleaner } from "../media/image.ts";
import { type CookieOptions, readCookie } from "../sessions/cookies.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { AccountDeps, AccountOptions } from "../users/account-deps.ts";
import { AVATAR_MISSING, parseCredentials, parseRegistration } from "../users/inputs.ts";
import { logIn } from "../users/log-in.ts";
import type { PasswordRules } from "../passwords/password-rules.ts";
import { type PublicUser, publicUser } from "../users/public-user.ts";
import { register } from "../users/register.ts";
import { refresh } from "../users/refresh.ts";
import { authenticate, authenticateLogOut, logOut } from "../users/session-calls.ts";
import { sendJson } from "./answer.ts";
import { clearSessionCookies, deviceCookie, readSessionCookies, sessionCookies } from "./call-cookies.ts";
import { type LimitDeps, limitGuess, limitSession } from "./limit-steps.ts";
import { contextOf } from "./request-context.ts";
import { readRegistrationForm } from "./registration-form.ts";

/** The dependencies of all calls. */
export interface AccountCallsDeps extends AccountDeps, LimitDeps {
  readonly images: ImageCleaner;
  /** The memory for the forms of all calls. */
  readonly uploads: Pick<UploadBudget, "open">;
}

/** The options of all calls. */
export interface AccountRouteOptions extends AccountOptions {
  readonly cookies: CookieOptions;
  /** True if a refresh cookie alone may log out. */
  readonly logOutAllowsRefresh: boolean;
  readonly avatarMaxBytes: number;
  readonly avatarRequired: boolean;
  /** Awaited once; the list of common passwords loads while the service starts. */
  readonly passwordRules: Promise<PasswordRules>;
}

/** The handlers. Each rejects with an `AccountError`; error-answer.ts answers it. */
export class AccountCalls {
  readonly #deps: AccountCallsDeps;
  readonly #options: AccountRouteOptions;

  constructor(deps: AccountCallsDeps, options: AccountRouteOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  readonly register: RequestHandler = async (request, response) => {
    const { avatarMaxBytes, avatarRequired, passwordRules } = this.#options;
    const { caller } = contextOf(response);
    const call = new AbortController();
    const hold = this.#deps.uploads.open(caller.group.networks, call);
    try {
      const form = await readRegistrationForm(request, { avatarMaxBytes, hold, signal: call.signal });
      const isMissing = form.avatar === undefined ? avatarRequired : form.avatar.length === 0;
      const registration = await parseRegistration(form.fields, isMissing ? [AVATAR_MISSING] : [], await passwordRules);
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
    await limitGuess(this.#deps, credentials.email.key, this.#options.cookies, { request, response });
    const result = await logIn(this.#deps, this.#options, { ...credentials, refreshCookie }, caller);
    const { user, access, refresh: refreshToken } = result;
    response.setHeader("Set-Cookie", [
      ...sessionCookies(this.#deps, result, this.#options.cookies),
      deviceCookie(this.#deps, user, this.#options.cookies),
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
    const cookies = readSessionCookies(request, this.#options.cookies);
    const { tokens, clock } = this.#deps;
    const { refresh: token } = cookies;
    const refreshCheck = token.kind === "present" ? await tokens.verifyRefresh(token.value, clock()) : undefined;
    await limitSession(this.#deps, "refresh", refreshCheck, response);
    contextOf(response).clearCookiesWhenRefused = true;
    const result = await refresh(this.#deps, this.#options, { ...cookies, refreshCheck }, caller);
    response.setHeader("Set-Cookie", sessionCookies(this.#deps, result, this.#options.cookies));
    sendJson(response, 200, {
      message: "Your session is refreshed.",
      accessTokenExpiresAt: new Date(result.access.expiresAtMs).toISOString(),
      refreshTokenExpiresAt: new Date(result.refreshExpiresAtMs).toISOString(),
    });
    this.#deps.events.refreshed(result.result);
  };

  readonly currentUser: RequestHandler = async (request, response) => {
    const { user } = await authenticate(this.#deps, readSessionCookies(request, this.#options.cookies));
    sendJson(response, 200, { user: this.#publicUser(user) });
  };

  readonly logout: RequestHandler = async (request, response) => {
    const { cookies, logOutAllowsRefresh } = this.#options;
    const allowRefresh = { allowRefresh: logOutAllowsRefresh };
    const signedIn = await authenticateLogOut(this.#deps, readSessionCookies(request, cookies), allowRefresh);
    await logOut(this.#deps, signedIn, contextOf(response).caller);
    clearSessionCookies(response, cookies);
    sendJson(response, 200, { message: "You are logged out." });
  };

  #publicUser(user: UserRecord): PublicUser {
    return publicUser(user, (key) => this.#deps.media.url(key));
  }
}
