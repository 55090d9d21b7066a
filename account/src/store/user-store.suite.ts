// The requirements for every user store. Each implementation runs this suite from its own test file.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SessionRecord } from "../sessions/session-records.ts";
import type { MailToken, MediaIntent, UserChange, UserRecord, UserStore } from "./user-store.ts";

export interface StoreUnderTest {
  /** A started store, empty the first time. Each later one has the same data, as after a restart. */
  open(): Promise<UserStore>;
  /** Removes the data, when every store is stopped. */
  remove(): Promise<void>;
}

/** A session with every kind of value. */
export const SESSION: SessionRecord = {
  id: "11111111-1111-4111-8111-111111111111",
  generation: 0,
  tokenHash: "ab".repeat(32),
  rotatedAtMs: null,
  graceGeneration: 0,
  createdAtMs: 1_800_000_000_000,
  lastUsedAtMs: 1_800_000_000_000,
  idleExpiresAtMs: 1_800_604_800_000,
  absoluteExpiresAtMs: 1_802_592_000_000,
  userAgent: 'curl/8 "quoted" \u{1f600}',
  ipPrefix: "192.0.2.0/24",
};

const MAIL_TOKEN: MailToken = {
  purpose: "email",
  hash: "cd".repeat(32),
  email: "New@x.com",
  emailKey: "new@x.com",
  expiresAtMs: 1_800_000_000_000,
};

/** A user with every kind of value. */
export const USER: UserRecord = {
  id: "22222222-2222-4222-8222-222222222222",
  email: "Ada@Example.com",
  emailKey: "ada@example.com",
  name: "Ada 'Countess' Lovelace; DROP TABLE users",
  passwordHash: "$2b$04$hash",
  avatar: "http://localhost/media/a.png",
  avatarKey: "avatars/a.png",
  refreshToken: null,
  sessions: [],
  emailVerifiedAtMs: null,
  mailTokens: [],
  lockedAtMs: null,
  revision: 0,
  createdAtMs: 1_800_000_000_123,
  updatedAtMs: 1_800_000_000_123,
};

/** The intent of the user's avatar. */
const INTENT: MediaIntent = { key: "avatars/a.png", userId: USER.id, createdAtMs: 1_800_000_000_000 };

const CHANGE = {
  sessions: [SESSION],
  refreshToken: SESSION.tokenHash,
  passwordHash: "$2b$04$new",
  updatedAtMs: 1_800_000_001_000,
};

/** Runs the suite over the stores that `create` makes. */
export function describeUserStore(name: string, create: () => StoreUnderTest): void {
  describe(`${name} as UserStore`, () => {
    let subject: StoreUnderTest;
    let store: UserStore;

    beforeEach(async () => {
      subject = create();
      store = await subject.open();
    });

    afterEach(async () => {
      await store.stop();
      await subject.remove();
    });

    it("findById() and findByEmailKey() give back what insert() stored, field by field", async () => {
      expect(await store.insert(USER)).toBe("inserted");
      expect(await store.findById(USER.id)).toEqual(USER);
      expect(await store.findByEmailKey("ada@example.com")).toEqual(USER);
    });

    it("findById() and findByEmailKey() give nothing for unknown users and for what looks like a pattern", async () => {
      await store.insert(USER);
      expect(await store.findById("unknown")).toBeUndefined();
      for (const key of ["Ada@Example.com", "%", "ada@example.com' OR '1'='1", ""])
        expect(await store.findByEmailKey(key)).toBeUndefined();
    });

    it("insert() keeps nulls apart from empty texts", async () => {
      const bare = { ...USER, name: null, avatar: null, avatarKey: null };
      await store.insert(bare);
      expect(await store.findById(USER.id)).toEqual(bare);
    });

    it("insert() lets one of many with the same address in", async () => {
      const ids = Array.from({ length: 30 }, (_, index) => `user-${index}`);
      const results = await Promise.all(ids.map((id) => store.insert({ ...USER, id })));
      expect(results.filter((result) => result === "inserted")).toHaveLength(1);
      expect(results.filter((result) => result === "email_taken")).toHaveLength(29);
    });

    it("insert() takes another address, and rejects an id that exists", async () => {
      await store.insert(USER);
      expect(await store.insert({ ...USER, id: "other", emailKey: "b@x.com" })).toBe("inserted");
      await expect(store.insert({ ...USER, emailKey: "c@x.com" })).rejects.toMatchObject({
        code: "database_unavailable",
      });
    });

    it("update() replaces what may change and raises the revision", async () => {
      await store.insert(USER);
      expect(await store.update(USER.id, 0, CHANGE)).toBe("updated");
      expect(await store.findById(USER.id)).toEqual({ ...USER, ...CHANGE, revision: 1 });
    });

    it.each<{ what: string; change: Omit<UserChange, "updatedAtMs"> }>([
      { what: "the address", change: { email: "B@x.com", emailKey: "b@x.com" } },
      { what: "the name", change: { name: "Countess" } },
      { what: "the name to none", change: { name: null } },
      { what: "the avatar", change: { avatar: "http://localhost/media/b.png", avatarKey: "avatars/b.png" } },
      { what: "the avatar to none", change: { avatar: null, avatarKey: null } },
      { what: "that the address is verified", change: { emailVerifiedAtMs: 1_800_000_000_000 } },
      { what: "the links in mails", change: { mailTokens: [MAIL_TOKEN] } },
      { what: "that it is locked", change: { lockedAtMs: 1_800_000_000_000 } },
      { what: "the sessions to none", change: { sessions: [], refreshToken: null } },
    ])("update() changes $what and nothing else", async ({ change }) => {
      const user = { ...USER, sessions: [SESSION], refreshToken: SESSION.tokenHash };
      await store.insert(user);
      expect(await store.update(USER.id, 0, { ...change, updatedAtMs: 1_900_000_000_000 })).toBe("updated");
      const changed = { ...user, ...change, updatedAtMs: 1_900_000_000_000, revision: 1 };
      expect(await store.findById(USER.id)).toEqual(changed);
      expect(await store.findByEmailKey(changed.emailKey)).toEqual(changed);
    });

    it("update() frees the former address", async () => {
      await store.insert(USER);
      await store.update(USER.id, 0, { emailKey: "b@x.com", updatedAtMs: 1 });
      expect(await store.findByEmailKey(USER.emailKey)).toBeUndefined();
      expect(await store.insert({ ...USER, id: "other" })).toBe("inserted");
    });

    it("update() changes nothing when another user has the address", async () => {
      const other = { ...USER, id: "other", emailKey: "b@x.com" };
      await store.insert(USER);
      await store.insert(other);
      const change = { ...CHANGE, emailKey: "b@x.com" };
      expect(await store.update(USER.id, 0, change)).toBe("email_taken");
      expect([await store.findById(USER.id), await store.findById("other")]).toEqual([USER, other]);
    });

    it("update() gives an address to one of many that want it", async () => {
      const ids = Array.from({ length: 10 }, (_, index) => `user-${index}`);
      for (const id of ids) await store.insert({ ...USER, id, emailKey: `${id}@x.com` });
      const results = await Promise.all(
        ids.map((id) => store.update(id, 0, { emailKey: "wanted@x.com", updatedAtMs: 1 })),
      );
      expect(results.filter((result) => result === "updated")).toHaveLength(1);
      expect(results.filter((result) => result === "email_taken")).toHaveLength(9);
    });

    it("remove() removes the user, frees the address, and is false for unknown users", async () => {
      await store.insert(USER);
      expect([await store.remove(USER.id), await store.remove(USER.id)]).toEqual([true, false]);
      expect(await store.findById(USER.id)).toBeUndefined();
      expect(await store.update(USER.id, 0, CHANGE)).toBe("conflict");
      expect(await store.insert({ ...USER, id: "other" })).toBe("inserted");
    });

    it("update() changes nothing when the revision has moved on or the user is unknown", async () => {
      await store.insert(USER);
      expect(await store.update(USER.id, 1, CHANGE)).toBe("conflict");
      expect(await store.update("unknown", 0, CHANGE)).toBe("conflict");
      expect(await store.findById(USER.id)).toEqual(USER);
    });

    it("update() lets one of many with the same revision win", async () => {
      await store.insert(USER);
      const names = Array.from({ length: 20 }, (_, index) => `name ${index}`);
      const results = await Promise.all(names.map((name) => store.update(USER.id, 0, { ...CHANGE, name })));
      const winners = names.filter((_, index) => results[index] === "updated");
      expect(winners).toHaveLength(1);
      expect(await store.findById(USER.id)).toMatchObject({ revision: 1, name: winners[0] });
    });

    it("keeps everything over a restart", async () => {
      await store.insert(USER);
      await store.update(USER.id, 0, CHANGE);
      await store.stop();
      store = await subject.open();
      expect(await store.findByEmailKey("ada@example.com")).toEqual({
        ...USER,
        ...CHANGE,
        revision: 1,
      });
    });

    it("findAvatarKeys() gives the keys of these users that have an avatar, and of no other", async () => {
      await store.insert(USER);
      await store.insert({ ...USER, id: "other", emailKey: "b@x.com", avatarKey: "avatars/b.png" });
      await store.insert({ ...USER, id: "bare", emailKey: "c@x.com", avatarKey: null });
      expect(await store.findAvatarKeys([USER.id, "bare", "unknown", "' OR 1=1 --"])).toEqual(
        new Set(["avatars/a.png"]),
      );
      expect(await store.findAvatarKeys([])).toEqual(new Set());
    });

    it("takeMediaIntents() gives the keys that no record names, the oldest first, until they are removed", async () => {
      const later = { ...INTENT, key: "avatars/b.png", createdAtMs: INTENT.createdAtMs + 1 };
      await store.addMediaIntent(later);
      await store.addMediaIntent(INTENT);
      expect(await store.takeMediaIntents(INTENT.createdAtMs - 1)).toEqual([]);
      expect(await store.takeMediaIntents(INTENT.createdAtMs)).toEqual([INTENT.key]);
      expect(await store.takeMediaIntents(later.createdAtMs)).toEqual([INTENT.key, later.key]);
      expect(await store.findAvatarKeys([USER.id, "unknown"])).toEqual(new Set([INTENT.key, later.key]));
      await store.removeMediaIntent(INTENT.key);
      await store.removeMediaIntent("unknown");
      expect(await store.takeMediaIntents(later.createdAtMs)).toEqual([later.key]);
    });

    it("insert() ends the intent of its avatar and of no other, and of none when it stores nothing", async () => {
      const other = { ...INTENT, key: "avatars/b.png", userId: "other" };
      await store.addMediaIntent(INTENT);
      await store.insert(USER);
      await store.addMediaIntent(other);
      expect(await store.insert({ ...USER, id: "other", avatarKey: other.key })).toBe("email_taken");
      expect(await store.takeMediaIntents(INTENT.createdAtMs)).toEqual([other.key]);
    });

    it("takeMediaIntents() gives an avatar that was replaced, not the one that replaced it", async () => {
      const next = { ...INTENT, key: "avatars/b.png" };
      await store.insert(USER);
      for (const intent of [INTENT, next]) await store.addMediaIntent(intent);
      await store.update(USER.id, 0, { avatarKey: next.key, updatedAtMs: 1 });
      expect(await store.takeMediaIntents(INTENT.createdAtMs)).toEqual([INTENT.key]);
      expect(await store.findAvatarKeys([USER.id])).toEqual(new Set([INTENT.key, next.key]));
    });

    it("addMediaIntent() again moves the intent to its new time", async () => {
      await store.addMediaIntent(INTENT);
      await store.addMediaIntent({ ...INTENT, createdAtMs: INTENT.createdAtMs + 1 });
      expect(await store.takeMediaIntents(INTENT.createdAtMs)).toEqual([]);
    });

    it("ping() resolves while the store is open", async () => {
      await expect(store.ping()).resolves.toBeUndefined();
    });

    it("rejects with database_unavailable once stopped, and changes nothing", async () => {
      await store.insert(USER);
      await store.stop();
      await store.stop();
      const failure = { code: "database_unavailable", transient: true, outcome: "not_applied" };
      await expect(store.ping()).rejects.toMatchObject(failure);
      await expect(store.findById(USER.id)).rejects.toMatchObject(failure);
      await expect(store.insert(USER)).rejects.toMatchObject(failure);
      await expect(store.update(USER.id, 0, CHANGE)).rejects.toMatchObject(failure);
      await expect(store.remove(USER.id)).rejects.toMatchObject(failure);
      await expect(store.findAvatarKeys([USER.id])).rejects.toMatchObject(failure);
      await expect(store.addMediaIntent(INTENT)).rejects.toMatchObject(failure);
      await expect(store.takeMediaIntents(0)).rejects.toMatchObject(failure);
      await expect(store.removeMediaIntent(INTENT.key)).rejects.toMatchObject(failure);
    });
  });
}
