// The handlers of the five calls: they pass requests to users/, and write its results as answers
// with cookies.
import type { Request, RequestHandler, Response } from "express";
import { fieldError } from "../errors.ts";
import { AVATAR_LIMITS, type CleanImage, type ImageCleaner } from "../media/image.ts";
import { clearCookie, type CookieKind, type CookieOptions, readCookie, serializeCookie } from "../sessions/cookies.ts";
import { DEVICE_COOKIE_SECONDS, isDeviceToken, issueDeviceToken } from "../sessions/device-cookie.ts";
import { loginCheck } from "../throttle/limits.ts";
import type { Throttle } from "../throttle/throttle.ts";
import type { AccountDeps, AccountOptions, Caller } from "../users/account-deps.ts";
import { parseCredentials, parseRegistration } from "../users/inputs.ts";
import type { IssuedToken } from "../users/issue-tokens.ts";
import { logIn } from "../users/log-in.ts";
import type { PasswordRules } from "../users/password-rules.ts";
import { accountLabel, publicUser } from "../users/public-user.ts";
import { register } from "../users/register.ts";
import type { SessionCookies } from "../users/cookie-claims.ts";
import { refresh } from "../users/refresh.ts";
import { authenticate, authenticateLogOut, logOut } from "../users/session-calls.ts";
import { sendJson } from "./answer.ts";
import { enforceLimits } from "./limit-steps.ts";
import { contextOf } from "./request-context.ts";
import { formMaxBytes, readRegistrationForm } from "./registration-form.ts";
import { UploadBudget } from "./upload-budget.ts";

/** How many forms with the largest avatar fit into memory at a time; of smaller ones more. */
const UPLOAD_CONCURRENCY = 16;

const AVATAR_MESSAGES = {
  type: "The avatar must be a PNG, JPEG or WebP image.",
  damaged: "The avatar is damaged or not complete.",
  animated: "The avatar must not be animated.",
  complex: "The avatar takes too long to decode. Send a smaller or simpler image.",
  dimensions: `The avatar must measure ${AVATAR_LIMITS.sideMinPixels} to ${AVATAR_LIMITS.sideMaxPixels} pixels on each side.`,
} as const;

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
    this.#uploads = new UploadBudget(UPLOAD_CONCURRENCY * formMaxBytes(options.avatarMaxBytes));
  }

  readonly register: RequestHandler = async (request, response) => {
    const { avatarMaxBytes, avatarRequired, passwordRules } = this.#options;
    const hold = this.#uploads.open();
    try {
      const form = await readRegistrationForm(request, { avatarMaxBytes, hold });
      const isAvatarMissing =
        (form.avatar === undefined || form.avatar.length === 0) && (avatarRequired || form.avatar !== undefined);
      const missing = isAvatarMissing
        ? [{ field: "avatar", message: "Choose an image as avatar.", code: "avatar_required" }]
        : [];
      const registration = await parseRegistration(form.fields, missing, await passwordRules);
      const { caller } = contextOf(response);
      const avatar = form.avatar === undefined ? undefined : await this.#cleanAvatar(form.avatar, caller);
      const user = await register(this.#deps, registration, avatar, caller);
      response.setHeader("Location", "/api/v1/user/current-user");
      const message = "Your account is ready. Log in to use it.";
      sendJson(response, 201, { message, user: publicUser(user) });
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
      user: publicUser(user),
      accessTokenExpiresAt: new Date(access.expiresAtMs).toISOString(),
      refreshTokenExpiresAt: new Date(refreshToken.expiresAtMs).toISOString(),
    });
  };

  readonly refreshToken: RequestHandler = async (request, response) => {
    contextOf(response).clearCookiesWhenRefused = true;
    const cookies = this.#readCookies(request);
    const result = await refresh(this.#deps, this.#options, cookies, contextOf(response).caller);
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
    sendJson(response, 200, { user: publicUser(user) });
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
  #limitLogin(emailKey: string, { addressPrefix }: Caller, request: Request, response: Response): Promise<void> {
    const { throttle, clock, labelKey } = this.#deps;
    const device = readCookie(request.headers.cookie, "device", this.#options.cookies);
    const isKnown = device.kind === "present" && isDeviceToken(labelKey, emailKey, device.value, clock());
    const check = loginCheck({
      addressPrefix,
      account: accountLabel(labelKey, emailKey),
      accountAndAddress: accountLabel(labelKey, `${emailKey}|${addressPrefix}`),
      device: isKnown ? accountLabel(labelKey, `device|${device.value}`) : undefined,
    });
    return enforceLimits(throttle, check, response);
  }

  #deviceCookie(emailKey: string): string {
    const token = issueDeviceToken(this.#deps.labelKey, emailKey, this.#deps.clock());
    return serializeCookie("device", token, DEVICE_COOKIE_SECONDS, this.#options.cookies);
  }

  async #cleanAvatar(bytes: Buffer, { addressPrefix }: Caller): Promise<CleanImage> {
    const result = await this.#deps.images.clean(bytes, addressPrefix);
    if (result.ok) return result.image;
    const { problem } = result;
    const field = { field: "avatar", message: AVATAR_MESSAGES[problem], code: `avatar_${problem}` };
    throw fieldError(problem === "type" ? "avatar_type" : "avatar_invalid", field);
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
