// The handlers of the calls that need mail.
import type { Request, RequestHandler, Response } from "express";
import { describeError } from "@weir/common/errors/service-error";
import { mailCheck } from "../throttle/limits.ts";
import { parseAddress, parseEmailChange, parseReset, parseToken } from "../users/inputs.ts";
import {
  type MailDeps,
  requestEmailChange,
  resetPassword,
  sendReset,
  sendVerification,
  verifyEmail,
} from "../users/mail-calls.ts";
import { accountLabel, publicUser } from "../users/public-user.ts";
import { authenticate, type SignedIn } from "../users/session-calls.ts";
import type { AccountRouteOptions } from "./account-routes.ts";
import { sendJson } from "./answer.ts";
import { deviceCookie, readSessionCookies } from "./call-cookies.ts";
import { enforceLimits, type LimitDeps, limitGuess } from "./limit-steps.ts";
import { contextOf } from "./request-context.ts";

/** Most mails about forgotten passwords that are on their way at a time. */
const RESETS_MAX = 64;

/** The handlers. Each rejects with an `AccountError`; error-answer.ts answers it. */
export class MailCalls {
  readonly #deps: MailDeps & LimitDeps;
  readonly #options: AccountRouteOptions;
  readonly #resets = new Set<Promise<void>>();

  constructor(deps: MailDeps & LimitDeps, options: AccountRouteOptions) {
    this.#deps = deps;
    this.#options = options;
  }

  readonly sendVerification: RequestHandler = async (request, response) => {
    const signedIn = await this.#signedIn(request);
    await this.#limitMail(signedIn.user.emailKey, response);
    await sendVerification(this.#deps, signedIn);
    sendJson(response, 200, { message: "A mail is on its way. Open its link." });
  };

  readonly verifyEmail: RequestHandler = async (request, response) => {
    const signedIn = await this.#signedIn(request);
    const { token } = parseToken(request.body);
    const user = await verifyEmail(this.#deps, signedIn, token, contextOf(response).caller);
    // The device cookies of before are of an earlier holder, or of this one.
    response.setHeader("Set-Cookie", deviceCookie(this.#deps, user, this.#options.cookies));
    const body = {
      message: "Your e-mail address is verified.",
      user: publicUser(user, (key) => this.#deps.media.url(key)),
    };
    sendJson(response, 200, body);
  };

  readonly changeEmail: RequestHandler = async (request, response) => {
    const signedIn = await this.#signedIn(request);
    const change = parseEmailChange(request.body);
    await limitGuess(this.#deps, signedIn.user.emailKey, this.#options.cookies, { request, response });
    await this.#limitMail(change.email.key, response);
    await requestEmailChange(this.#deps, signedIn, change, contextOf(response).caller);
    sendJson(response, 200, { message: "A mail is on its way to the new address. Open its link." });
  };

  /** Answers before it looks for the account: neither the answer nor its time reveals whether there is one. */
  readonly forgotPassword: RequestHandler = async (request, response) => {
    const { email } = parseAddress(request.body);
    await this.#limitMail(email.key, response);
    const { log } = contextOf(response).caller;
    const failed = (reason: string): void => log.warn("Cannot mail a link for a new password", { reason });
    // Not refused: only addresses with an account keep their place for long.
    if (this.#resets.size >= RESETS_MAX) failed(`${RESETS_MAX} mails are on their way`);
    else this.#sendReset(email.key, failed);
    sendJson(response, 200, { message: "If an account has this address, a mail is on its way." });
  };

  readonly resetPassword: RequestHandler = async (request, response) => {
    const { passwordRules } = this.#options;
    const { caller } = contextOf(response);
    const holder = await resetPassword(this.#deps, parseReset(request.body), await passwordRules, caller);
    // The login that follows is not one of the guesses that others may have made meanwhile.
    response.setHeader("Set-Cookie", deviceCookie(this.#deps, holder, this.#options.cookies));
    sendJson(response, 200, { message: "Your password is set. Log in with it." });
  };

  #sendReset(emailKey: string, failed: (reason: string) => void): void {
    const reset = sendReset(this.#deps, emailKey).catch((error: unknown) => failed(describeError(error)));
    this.#resets.add(reset);
    void reset.finally(() => this.#resets.delete(reset));
  }

  /** Resolves when no mail of an answered call is on its way. */
  readonly settle = async (): Promise<void> => {
    await Promise.all(this.#resets);
  };

  #signedIn(request: Request): Promise<SignedIn> {
    return authenticate(this.#deps, readSessionCookies(request, this.#options.cookies));
  }

  #limitMail(emailKey: string, response: Response): Promise<void> {
    const { throttle, labelKey } = this.#deps;
    const check = mailCheck(contextOf(response).caller.group, accountLabel(labelKey, emailKey));
    return enforceLimits(throttle, check, response);
  }
}
