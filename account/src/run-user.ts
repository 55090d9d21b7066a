// Runs `weir-account user`: shows or changes the account with an address. The service may run meanwhile, and
// takes over each change immediately.
import { mkdirSync } from "node:fs";
import { userInfo } from "node:os";
import { resolve } from "node:path";
import type { ProgramContext } from "@weir/common/lifecycle/program";
import { createLog } from "@weir/common/log/log";
import type { UserAction } from "./command.ts";
import type { MediaStore } from "./media/media-store.ts";
import { createMediaStore } from "./service-media.ts";
import { openLabelKey } from "./sessions/open-keys.ts";
import { liveSessions } from "./sessions/session-records.ts";
import type { Settings } from "./settings/settings.ts";
import { createUserStore } from "./store/create-user-store.ts";
import type { UserChange, UserRecord, UserStore } from "./store/user-store.ts";
import { discardAvatar, expectDiscard } from "./users/avatars.ts";
import { parseEmail } from "./users/email.ts";
import { accountLabel } from "./users/public-user.ts";
import { changeOfSessions, updateUser } from "./users/update-user.ts";

/** The text that is printed, and the line of the log, of each action that changes something. */
const DONE: Readonly<Record<Exclude<UserAction, "find">, { readonly text: string; readonly event: string }>> = {
  lock: { text: "The account is locked and logged out everywhere.", event: "Account locked by an operator" },
  unlock: { text: "The account is not locked.", event: "Account unlocked by an operator" },
  "end-sessions": { text: "All sessions are ended.", event: "Sessions ended by an operator" },
  delete: { text: "The account is deleted.", event: "Account deleted by an operator" },
};

/** Does it, and resolves to the exit code: 1 when no account has the address. */
export async function runUser(
  settings: Settings,
  { action, email }: { readonly action: UserAction; readonly email: string },
  context: Pick<ProgramContext, "stdout" | "stderr" | "useLog">,
): Promise<number> {
  const log = createLog({ ...settings.log, write: context.stderr });
  context.useLog(log);
  const dataDirectory = resolve(settings.dataDirectory);
  mkdirSync(dataDirectory, { recursive: true, mode: 0o700 });
  const store = createUserStore(settings.store, { log }, { dataDirectory, access: "share" });
  const { store: media, parts } = createMediaStore(settings, { log, dataDirectory, url: () => "" });
  try {
    await store.start();
    const key = parseEmail(email)?.key;
    const user = key === undefined ? undefined : await store.findByEmailKey(key);
    // Before anything is done: nothing that is done may lack its line.
    const labelKey = openLabelKey(settings.labelSecret, dataDirectory);
    const account = key === undefined ? "" : accountLabel(labelKey, key);
    const fields = { account, operator: userInfo().username };
    if (user === undefined) {
      log.info("Account not found for an operator", { ...fields, action });
      context.stderr("weir-account: Cannot find the account: none has this e-mail address\n");
      return 1;
    }
    if (action === "find") {
      log.info("Account shown to an operator", { ...fields, user: user.id });
      context.stdout(describe(user, Date.now()));
      return 0;
    }
    for (const part of parts) await part.start?.();
    await change({ store, media }, user, action);
    log.info(DONE[action].event, { ...fields, user: user.id });
    context.stdout(`${DONE[action].text}\n`);
    return 0;
  } finally {
    for (const part of parts) await part.stop?.();
    await store.stop();
  }
}

async function change(
  { store, media }: { readonly store: UserStore; readonly media: MediaStore },
  user: UserRecord,
  action: Exclude<UserAction, "find">,
): Promise<void> {
  if (action === "delete") {
    const deps = { store, media, clock: Date.now };
    await expectDiscard(deps, user);
    await store.remove(user.id);
    await discardAvatar(deps, user.avatarKey);
    return;
  }
  const nowMs = Date.now();
  await updateUser(store, user.id, (current): UserChange => {
    if (action === "unlock") return { lockedAtMs: null, updatedAtMs: nowMs };
    const ended = changeOfSessions(current, [], nowMs);
    return action === "lock" ? { ...ended, lockedAtMs: nowMs } : ended;
  });
}

function describe(user: UserRecord, nowMs: number): string {
  const time = (ms: number): string => new Date(ms).toISOString();
  const sessions = liveSessions(user.sessions, nowMs);
  const lines = [
    `id          ${user.id}`,
    `registered  ${time(user.createdAtMs)}`,
    `verified    ${user.emailVerifiedAtMs === null ? "no" : `since ${time(user.emailVerifiedAtMs)}`}`,
    `locked      ${user.lockedAtMs === null ? "no" : `since ${time(user.lockedAtMs)}`}`,
    `avatar      ${user.avatarKey ?? "none"}`,
    `sessions    ${sessions.length}`,
    ...sessions.map(
      (each) => `  ${each.id}  last used ${time(each.lastUsedAtMs)}  ${each.ipPrefix}  ${each.userAgent}`,
    ),
  ];
  return `${lines.join("\n")}\n`;
}
