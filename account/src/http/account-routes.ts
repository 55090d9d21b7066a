// The handlers of the five calls: they pass requests to users/, and write its results as answers
// with cookies.
import type { Request, RequestHandler, Response } from "express";
import { AccountError, fieldError } from "../errors.ts";
import { AVATAR_LIMITS, cleanImage, type CleanImage } from "../media/image.ts";
import { clearCookie, type CookieOptions, readCookie, serializeCookie } from "../sessions/cookies.ts";
import type { AccountDeps, AccountOptions } from "../users/account-deps.ts";
import { parseCredentials, parseRegistration } from "../users/inputs.ts";
import { logIn } from "../users/log-in.ts";
import type { PasswordRules } from "../users/password-rules.ts";
import { publicUser } from "../users/public-user.ts";
import { register } from "../users/register.ts";
import { authenticate, logOut, refresh, type SessionCookies } from "../users/session-calls.ts";
import { sendJson } from "./answer.ts";
import { contextOf } from "./request-context.ts";
import { formMaxBytes, readRegistrationForm } from "./registration-form.ts";
import { createUploadBudget, type UploadHold } from "./upload-budget.ts";

/** How many forms with the largest avatar fit into memory at a time; of smaller ones more. */
const UPLOAD_CONCURRENCY = 16;

/** The options of the calls. */
export interface AccountRouteOptions extends AccountOptions {
  readonly cookies: CookieOptions;
  readonly avatarMaxBytes: number;
  readonly avatarRequired: boolean;
  /** Awaited once; the list of common passwords loads while the service starts. */
  readonly passwordRules: Promise<PasswordRules>;
}

/** The handlers of the five calls. */
export interface AccountHandlers {
  readonly register: RequestHandler;
  readonly login: RequestHandler;
  readonly refreshToken: RequestHandler;
  readonly currentUser: RequestHandler;
  readonly logout: RequestHandler;
}

/** Builds the handlers. Each rejects with an `AccountError`; error-answer.ts answers it. */
export function createAccountHandlers(deps: AccountDeps, options: AccountRouteOptions): AccountHandlers {
  const uploads = createUploadBudget(UPLOAD_CONCURRENCY * formMaxBytes(options.avatarMaxBytes));
  return {
    async register(request, response) {
      const hold = uploads.open();
      try {
        await answerRegister(deps, options, { request, response, hold });
      } finally {
        hold.release();
      }
    },
    async login(request, response) {
      try {
        await answerLogin(deps, options, request, response);
      } catch (error) {
        if (!(error instanceof AccountError) || error.code !== "invalid_credentials") deps.events.loggedIn("error");
        throw error;
      }
    },
    async refreshToken(request, response) {
      contextOf(response).clearCookiesWhenRefused = true;
      try {
        await answerRefresh(deps, options, request, response);
        deps.events.refreshed("issued");
      } catch (error) {
        deps.events.refreshed(error instanceof AccountError && !error.transient ? "invalid" : "error");
        throw error;
      }
    },
    async currentUser(request, response) {
      const { user } = await authenticate(deps, readCookies(request, options.cookies));
      sendJson(request, response, 200, { user: publicUser(user) });
    },
    async logout(request, response) {
      const signedIn = await authenticate(deps, readCookies(request, options.cookies));
      await logOut(deps, signedIn, contextOf(response).caller);
      response.setHeader("Set-Cookie", [
        clearCookie("access", options.cookies),
        clearCookie("refresh", options.cookies),
      ]);
      sendJson(request, response, 200, { message: "You are logged out." });
    },
  };
}

async function answerRegister(
  deps: AccountDeps,
  options: AccountRouteOptions,
  { request, response, hold }: { request: Request; response: Response; hold: UploadHold },
): Promise<void> {
  const form = await readRegistrationForm(request, { avatarMaxBytes: options.avatarMaxBytes, hold });
  const isAvatarMissing =
    (form.avatar === undefined || form.avatar.length === 0) && (options.avatarRequired || form.avatar !== undefined);
  const missing = isAvatarMissing
    ? [{ field: "avatar", message: "Choose an image as avatar.", code: "avatar_required" }]
    : [];
  const registration = parseRegistration(form.fields, missing, await options.passwordRules);
  const avatar = form.avatar === undefined ? undefined : checkAvatar(form.avatar);
  const user = await register(deps, registration, avatar, contextOf(response).caller);
  response.setHeader("Location", "/api/v1/user/current-user");
  sendJson(request, response, 201, { message: "Your account is ready. Log in to use it.", user: publicUser(user) });
}

async function answerLogin(
  deps: AccountDeps,
  options: AccountRouteOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const credentials = parseCredentials(request.body);
  const refreshCookie = readCookie(request.headers.cookie, "refresh", options.cookies);
  const result = await logIn(deps, options, { ...credentials, refreshCookie }, contextOf(response).caller);
  const nowMs = deps.clock();
  response.setHeader("Set-Cookie", [
    serializeCookie("access", result.access.token, secondsUntil(result.access.expiresAtMs, nowMs), options.cookies),
    serializeCookie("refresh", result.refresh.token, secondsUntil(result.refresh.expiresAtMs, nowMs), options.cookies),
  ]);
  sendJson(request, response, 200, {
    message: "You are logged in.",
    user: publicUser(result.user),
    accessTokenExpiresAt: new Date(result.access.expiresAtMs).toISOString(),
    refreshTokenExpiresAt: new Date(result.refresh.expiresAtMs).toISOString(),
  });
}

async function answerRefresh(
  deps: AccountDeps,
  options: AccountRouteOptions,
  request: Request,
  response: Response,
): Promise<void> {
  const result = await refresh(deps, options, readCookies(request, options.cookies));
  const maxAgeSeconds = secondsUntil(result.access.expiresAtMs, deps.clock());
  response.setHeader("Set-Cookie", [serializeCookie("access", result.access.token, maxAgeSeconds, options.cookies)]);
  sendJson(request, response, 200, {
    message: "Your session is refreshed.",
    accessTokenExpiresAt: new Date(result.access.expiresAtMs).toISOString(),
    refreshTokenExpiresAt: new Date(result.refreshExpiresAtMs).toISOString(),
  });
}

function readCookies(request: Request, options: CookieOptions): SessionCookies {
  const header = request.headers.cookie;
  return {
    access: readCookie(header, "access", options),
    refresh: readCookie(header, "refresh", options),
    mustAgree: options.scope === "path",
  };
}

function checkAvatar(bytes: Buffer): CleanImage {
  const result = cleanImage(bytes, AVATAR_LIMITS);
  if (result.ok) return result.image;
  switch (result.problem) {
    case "type":
      throw fieldError("avatar_type", {
        field: "avatar",
        message: "The avatar must be a PNG, JPEG or WebP image.",
        code: "avatar_type",
      });
    case "damaged":
      throw fieldError("avatar_type", {
        field: "avatar",
        message: "The avatar is damaged or not complete.",
        code: "avatar_damaged",
      });
    case "animated":
      throw fieldError("avatar_type", {
        field: "avatar",
        message: "The avatar must not be animated.",
        code: "avatar_animated",
      });
    case "dimensions": {
      const { sideMinPixels, sideMaxPixels } = AVATAR_LIMITS;
      const message = `The avatar must measure ${sideMinPixels} to ${sideMaxPixels} pixels on each side.`;
      throw fieldError("validation_failed", { field: "avatar", message, code: "avatar_dimensions" });
    }
  }
}

function secondsUntil(endMs: number, nowMs: number): number {
  return Math.ceil((endMs - nowMs) / 1000);
}
