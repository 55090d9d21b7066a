// The images of a user whose record changes, or about whose record it is unknown whether it was changed.
import { createSecretKey } from "node:crypto";
import { callerGroup } from "@weir/common/callers/caller-group";
import { silentLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it, vi } from "vitest";
import type { CleanImage } from "../media/image.ts";
import { keysOfSecrets } from "../sessions/key-ring.ts";
import { createSession } from "../sessions/session-records.ts";
import { createTokens } from "../sessions/tokens.ts";
import { StoreError } from "../store/store-error.ts";
import type { UpdateResult, UserChange, UserRecord } from "../store/user-store.ts";
import type { AccountOptions, Caller } from "./account-deps.ts";
import type { SessionTokens } from "./open-session.ts";
import { changeAvatar, changePassword, deleteAccount, type ProfileDeps } from "./profile.ts";

const ID = "22222222-2222-4222-8222-222222222222";
const OLD = `avatars/${ID}/00000000000000000000000000000000.png`;
const NEW = `avatars/${ID}/0123456789abcdef0123456789abcdef.png`;
const IMAGE: CleanImage = { format: "png", width: 16, height: 16, bytes: Buffer.from("picture") };
const NOW_MS = 1_800_000_000_000;
const NEW_SESSION = "33333333-3333-4333-8333-333333333333";
const OPTIONS: AccountOptions = {
  ...{ idleMs: 1000, absoluteMs: 1000, maxSessions: 1 },
  ...{ graceMs: 0, isRotating: true, accessTtlMs: 1000 },
};
const KEYS = keysOfSecrets("access-secret-of-at-least-32-bytes", "refresh-secret-of-at-least-32-byte");
const SESSION = createSession("s", "t", { userAgent: "", ipPrefix: "" }, NOW_MS, OPTIONS);
const CALLER: Caller = {
  device: { userAgent: "", ipPrefix: "" },
  group: callerGroup("203.0.113.7"),
  log: silentLog(),
};

/** A user with an avatar and a session, in stores that keep the rules of the real ones. */
class Fixture {
  user: UserRecord | undefined = {
    id: ID,
    email: "ada@x.com",
    emailKey: "ada@x.com",
    name: null,
    passwordHash: "hash of secret",
    avatar: null,
    avatarKey: OLD,
    refreshToken: SESSION.tokenHash,
    sessions: [SESSION],
    emailVerifiedAtMs: null,
    mailTokens: [],
    lockedAtMs: null,
    revision: 0,
    createdAtMs: NOW_MS,
    updatedAtMs: NOW_MS,
  };
  readonly images = new Set([OLD]);
  readonly intents = new Set<string>();
  /** Happens before each write, and can end it. */
  beforeUpdate = (): Promise<void> => Promise.resolve();
  /** Happens while the call hashes. */
  whileHashing = (): void => undefined;
  readonly signedIn = { user: this.user!, session: SESSION };

  readonly deps = {
    store: {
      findById: () => Promise.resolve(this.user),
      update: async (_id: string, revision: number, change: UserChange): Promise<UpdateResult> => {
        await this.beforeUpdate();
        if (this.user?.revision !== revision) return "conflict";
        this.user = { ...this.user, ...change, revision: revision + 1 };
        return "updated";
      },
      remove: () => {
        this.user = undefined;
        return Promise.resolve(true);
      },
      addMediaIntent: ({ key }: { readonly key: string }) => {
        this.intents.add(key);
        return Promise.resolve();
      },
      removeMediaIntent: (key: string) => {
        this.intents.delete(key);
        return Promise.resolve();
      },
    },
    media: {
      put: (key: string) => {
        this.images.add(key);
        return Promise.resolve();
      },
      remove: (key: string) => {
        if (!this.intents.has(key)) return Promise.reject(new Error("nothing would lead to the image"));
        this.images.delete(key);
        return Promise.resolve();
      },
      url: (key: string) => `https://media.example/${key}`,
    },
    images: { clean: () => Promise.resolve({ ok: true, image: IMAGE }) },
    hasher: {
      reserve: () => ({ [Symbol.dispose]: () => undefined }),
      verify: (password: string, hash: string) => Promise.resolve(hash === `hash of ${password}`),
      hash: (password: string) => {
        this.whileHashing();
        return Promise.resolve(`hash of ${password}`);
      },
    },
    events: { mediaStored: () => undefined },
    clock: () => NOW_MS,
    newId: () => NEW_SESSION,
    random: () => 0,
    tokens: createTokens(() => KEYS, {
      issuer: "weir-account",
      accessTtlMs: OPTIONS.accessTtlMs,
      refreshMaxMs: OPTIONS.absoluteMs,
    }),
    newMediaName: () => "0123456789abcdef0123456789abcdef",
    labelKey: createSecretKey(Buffer.alloc(32, 2)),
  } as unknown as ProfileDeps;

  changeAvatar(): Promise<UserRecord> {
    return changeAvatar(this.deps, this.signedIn, IMAGE.bytes, CALLER, new AbortController());
  }

  changePassword(): Promise<SessionTokens> {
    return changePassword(this.deps, OPTIONS, this.signedIn, { password: "secret", newPassword: "other" }, CALLER);
  }

  /** Another call changes the record. */
  change(change: Partial<UserRecord>): void {
    this.user = { ...this.user!, ...change, revision: this.user!.revision + 1 };
  }
}

let fixture: Fixture;

beforeEach(() => {
  fixture = new Fixture();
});

describe("changeAvatar()", () => {
  it("names the new image in the record, and removes the earlier one and its intent", async () => {
    expect(await fixture.changeAvatar()).toMatchObject({ avatarKey: NEW, avatar: `https://media.example/${NEW}` });
    await vi.waitFor(() => expect([...fixture.images]).toEqual([NEW]));
    // The clean-up drops the intent of an image that a record names.
    expect([...fixture.intents]).toEqual([NEW]);
  });

  it("removes the image that another call stored in between", async () => {
    const third = `avatars/${ID}/33333333333333333333333333333333.png`;
    fixture.images.add(third);
    let writes = 0;
    fixture.beforeUpdate = () => {
      if (writes++ === 0) fixture.change({ avatarKey: third });
      return Promise.resolve();
    };
    await fixture.changeAvatar();
    await vi.waitFor(() => expect(fixture.images.has(third)).toBe(false));
    expect(fixture.user?.avatarKey).toBe(NEW);
  });

  it.each([
    { how: "the session ended", begin: () => fixture.change({ sessions: [] }), code: "session_revoked" },
    { how: "the account was deleted", begin: () => (fixture.user = undefined), code: "session_revoked" },
    {
      how: "the store refuses the write",
      begin: () => (fixture.beforeUpdate = () => Promise.reject(new StoreError("not_applied", new Error("refused")))),
      code: "database_unavailable",
    },
  ])("removes the new image and keeps the earlier one when $how meanwhile", async ({ begin, code }) => {
    begin();
    await expect(fixture.changeAvatar()).rejects.toMatchObject({ code });
    await vi.waitFor(() => expect([...fixture.images]).toEqual([OLD]));
  });

  it("keeps both images and their intents when it is unknown whether the write was done", async () => {
    fixture.beforeUpdate = () => Promise.reject(new StoreError("unknown", new Error("no answer")));
    await expect(fixture.changeAvatar()).rejects.toMatchObject({ code: "database_unavailable" });
    expect([[...fixture.images], [...fixture.intents]]).toEqual([
      [OLD, NEW],
      [NEW, OLD],
    ]);
  });
});

describe("changePassword()", () => {
  it("leaves the new session alone", async () => {
    await fixture.changePassword();
    expect(fixture.user?.passwordHash).toBe("hash of other");
    expect(fixture.user?.sessions.map(({ id }) => id)).toEqual([NEW_SESSION]);
  });

  it("rejects with busy when another call changed the password while this one hashed", async () => {
    fixture.whileHashing = () => fixture.change({ passwordHash: "hash of third" });
    await expect(fixture.changePassword()).rejects.toMatchObject({ code: "busy" });
    expect(fixture.user?.passwordHash).toBe("hash of third");
  });

  it("changes nothing when the session ended while it hashed", async () => {
    fixture.whileHashing = () => fixture.change({ sessions: [] });
    await expect(fixture.changePassword()).rejects.toMatchObject({ code: "session_revoked" });
    expect(fixture.user?.passwordHash).toBe("hash of secret");
  });
});

describe("deleteAccount()", () => {
  it("notes the image before the record goes, and removes it", async () => {
    await deleteAccount(fixture.deps, fixture.signedIn, "secret", CALLER);
    await vi.waitFor(() => expect([fixture.images.size, fixture.intents.size]).toEqual([0, 0]));
    expect(fixture.user).toBeUndefined();
  });

  it("keeps everything after a wrong password", async () => {
    await expect(deleteAccount(fixture.deps, fixture.signedIn, "guess", CALLER)).rejects.toMatchObject({
      code: "invalid_credentials",
    });
    expect([fixture.user?.revision, fixture.images.size, fixture.intents.size]).toEqual([0, 1, 0]);
  });
});
