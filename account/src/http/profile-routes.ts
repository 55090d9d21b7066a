// The handlers of the calls by which signed-in users look at their sessions and change their account. They
// are limited by session and address before anything else; password guesses count as those of logins do.
import type { Request, RequestHandler, Response } from "express";
import type { UserRecord } from "../store/user-store.ts";
import { avatarMissing, parsePassword, parsePasswordChange, parseProfile } from "../users/inputs.ts";
import { changeAvatar, changeName, changePassword, deleteAccount, removeAvatar } from "../users/profile.ts";
import { publicUser } from "../users/public-user.ts";
import { authenticate, listSessions, logOutEverywhere, revokeSession, type SignedIn } from "../users/session-calls.ts";
import type { AccountCallsDeps, AccountRouteOptions } from "./account-routes.ts";
import { sendJson } from "./answer.ts";
import { clearSessionCookies, readSessionCookies, sessionCookies } from "./call-cookies.ts";
import { limitGuess, limitSession } from "./limit-steps.ts";
import { readRegistrationForm } from "./registration-form.ts";
import { contextOf } from "./request-context.ts";

/** The handlers. Each rejects with an `AccountError`; error-answer.ts answers it. */
export class ProfileCalls {
  readonly #deps: AccountCallsDeps;
  readonly #options: AccountRouteOptions;

  constructor(deps: AccountCallsDeps, options: AccountRouteOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  /** The step before the body of each of these calls is read. */
  readonly limit: RequestHandler = async (request, response, next) => {
    const { tokens, clock } = this.#deps;
    const { access } = readSessionCookies(request, this.#options.cookies);
    const token = access.kind === "present" ? await tokens.verifyAccess(access.value, clock()) : undefined;
    await limitSession(this.#deps, "profile", token, response);
    next();
  };

  readonly listSessions: RequestHandler = async (request, response) => {
    const signedIn = await this.#signedIn(request);
    sendJson(response, 200, { sessions: listSessions(signedIn, this.#deps.clock()) });
  };

  readonly revokeSession: RequestHandler = async (request, response) => {
    const signedIn = await this.#signedIn(request);
    const id = String(request.params["id"]);
    await revokeSession(this.#deps, signedIn, id, contextOf(response).caller);
    if (id === signedIn.session.id) clearSessionCookies(response, this.#options.cookies);
    sendJson(response, 200, { message: "The session is ended." });
  };

  readonly logoutEverywhere: RequestHandler = async (request, response) => {
    await logOutEverywhere(this.#deps, await this.#signedIn(request), contextOf(response).caller);
    clearSessionCookies(response, this.#options.cookies);
    sendJson(response, 200, { message: "You are logged out everywhere." });
  };

  readonly changeProfile: RequestHandler = async (request, response) => {
    const signedIn = await this.#signedIn(request);
    const { name } = parseProfile(request.body);
    this.#sendUser(response, "Your name is changed.", await changeName(this.#deps, signedIn, name));
  };

  readonly changeAvatar: RequestHandler = async (request, response) => {
    const { avatarMaxBytes } = this.#options;
    const signedIn = await this.#signedIn(request);
    const { caller } = contextOf(response);
    const call = new AbortController();
    const hold = this.#deps.uploads.open(caller.group.networks, call);
    try {
      const { avatar } = await readRegistrationForm(request, { avatarMaxBytes, hold, signal: call.signal });
      if (avatar === undefined || avatar.length === 0) throw avatarMissing();
      const user = await changeAvatar(this.#deps, signedIn, avatar, caller, call);
      this.#sendUser(response, "Your avatar is changed.", user);
    } finally {
      hold.release();
    }
  };

  readonly removeAvatar: RequestHandler = async (request, response) => {
    const user = await removeAvatar(this.#deps, await this.#signedIn(request));
    this.#sendUser(response, "Your avatar is removed.", user);
  };

  readonly changePassword: RequestHandler = async (request, response) => {
    const signedIn = await this.#signedIn(request);
    const change = await parsePasswordChange(request.body, signedIn.user, await this.#options.passwordRules);
    await this.#limitGuess(signedIn, request, response);
    const tokens = await changePassword(this.#deps, this.#options, signedIn, change, contextOf(response).caller);
    response.setHeader("Set-Cookie", sessionCookies(this.#deps, tokens, this.#options.cookies));
    sendJson(response, 200, { message: "Your password is changed. Your other sessions are ended." });
  };

  readonly deleteAccount: RequestHandler = async (request, response) => {
    const signedIn = await this.#signedIn(request);
    const { password } = parsePassword(request.body);
    await this.#limitGuess(signedIn, request, response);
    await deleteAccount(this.#deps, signedIn, password, contextOf(response).caller);
    clearSessionCookies(response, this.#options.cookies);
    sendJson(response, 200, { message: "Your account is deleted." });
  };

  #signedIn(request: Request): Promise<SignedIn> {
    return authenticate(this.#deps, readSessionCookies(request, this.#options.cookies));
  }

  #limitGuess({ user }: SignedIn, request: Request, response: Response): Promise<void> {
    return limitGuess(this.#deps, user.emailKey, this.#options.cookies, { request, response });
  }

  #sendUser(response: Response, message: string, user: UserRecord): void {
    sendJson(response, 200, { message, user: publicUser(user, (key) => this.#deps.media.url(key)) });
  }
}
