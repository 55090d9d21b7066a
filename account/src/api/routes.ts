// The calls of the API: method and path of each, what limits it before its body is read, and the kind of its
// body.
import type { LimitedRoute } from "../throttle/limits.ts";

/** A method that a call has. */
export type CallMethod = "get" | "post" | "patch" | "delete";

/** A call. */
export interface AccountRoute {
  readonly method: CallMethod;
  readonly path: string;
  /** The limits that apply first: those of `profile` by session and address, others by address. */
  readonly limit?: LimitedRoute;
  readonly body?: "json" | "form";
  /** True if it answers 404 with MAIL=off. */
  readonly needsMail?: true;
}

/** Every call by its name, for routing and for the labels of metrics. */
export const ACCOUNT_ROUTES = {
  register: { method: "post", path: "/api/v1/user/register", limit: "register", body: "form" },
  login: { method: "post", path: "/api/v1/user/login", limit: "login", body: "json" },
  refreshToken: { method: "post", path: "/api/v1/user/refresh-token" },
  currentUser: { method: "get", path: "/api/v1/user/current-user" },
  logout: { method: "post", path: "/api/v1/user/logout" },
  listSessions: { method: "get", path: "/api/v1/user/sessions", limit: "profile" },
  revokeSession: { method: "delete", path: "/api/v1/user/sessions/:id", limit: "profile" },
  logoutEverywhere: { method: "delete", path: "/api/v1/user/sessions", limit: "profile" },
  changeProfile: { method: "patch", path: "/api/v1/user/current-user", limit: "profile", body: "json" },
  changeAvatar: { method: "post", path: "/api/v1/user/avatar", limit: "profile", body: "form" },
  removeAvatar: { method: "delete", path: "/api/v1/user/avatar", limit: "profile" },
  changePassword: { method: "post", path: "/api/v1/user/change-password", limit: "profile", body: "json" },
  sendVerification: { method: "post", path: "/api/v1/user/send-verification", limit: "profile", needsMail: true },
  verifyEmail: { method: "post", path: "/api/v1/user/verify-email", limit: "profile", body: "json", needsMail: true },
  changeEmail: { method: "post", path: "/api/v1/user/change-email", limit: "profile", body: "json", needsMail: true },
  forgotPassword: {
    method: "post",
    path: "/api/v1/user/forgot-password",
    limit: "login",
    body: "json",
    needsMail: true,
  },
  resetPassword: { method: "post", path: "/api/v1/user/reset-password", limit: "login", body: "json", needsMail: true },
  deleteAccount: { method: "post", path: "/api/v1/user/delete-account", limit: "profile", body: "json" },
} as const satisfies Record<string, AccountRoute>;

/** The path of the public keys (RFC 8615). */
export const KEY_SET_PATH = "/.well-known/jwks.json";

/** The name of a call. */
export type CallName = keyof typeof ACCOUNT_ROUTES;
