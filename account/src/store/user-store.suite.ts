// What every user store must do. Each implementation runs this suite from its own test file.
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { SessionRecord } from "../sessions/session-records.ts";
import type { UserRecord, UserStore } from "./user-store.ts";

/** An open store and how to take it down. */
export interface StoreUnderTest {
  readonly store: UserStore;
  /** Opens the same data again, as a restart does. */
  reopen(): Promise<UserStore>;
  close(): Promise<void>;
}

const SESSION: SessionRecord = {
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

const USER: UserRecord = {
  id: "22222222-2222-4222-8222-222222222222",
  email: "Ada@Example.com",
  emailKey: "ada@example.com",
  name: "Ada 'Countess' Lovelace; DROP TABLE users",
  passwordHash: "$2b$04$hash",
  avatar: "http://localhost/media/a.png",
  avatarKey: "avatars/a.png",
  refreshToken: null,
  sessions: [],
  revision: 0,
  createdAtMs: 1_800_000_000_123,
  updatedAtMs: 1_800_000_000_123,
};

const CHANGE = {
  sessions: [SESSION],
  refreshToken: SESSION.tokenHash,
  passwordHash: "$2b$04$new",
  updatedAtMs: 1_800_000_001_000,
};

/** Runs the suite over the stores that `open` makes, each empty. */
export function describeUserStore(name: string, open: () => Promise<StoreUnderTest>): void {
  describe(`${name} as UserStore`, () => {
    let subject: StoreUnderTest;
    let store: UserStore;

    beforeEach(async () => {
      subject = await open();
      store = subject.store;
    });

    afterEach(() => subject.close());

    it("findById() and findByEmailKey() give back what insert() stored, field by field", async () => {
      expect(await store.insert(USER)).toBe("inserted");
      expect(await store.findById(USER.id)).toEqual(USER);
      expect(await store.findByEmailKey("ada@example.com")).toEqual(USER);
    });

    it("findById() and findByEmailKey() give nothing for unknown users and for what looks like a pattern", async () => {
      await store.insert(USER);
      expect(await store.findById("nobody")).toBeUndefined();
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
      expect(await store.update(USER.id, 0, CHANGE)).toBe(true);
      expect(await store.findById(USER.id)).toEqual({ ...USER, ...CHANGE, revision: 1 });
    });

    it("update() changes nothing when the revision has moved on or the user is unknown", async () => {
      await store.insert(USER);
      expect(await store.update(USER.id, 1, CHANGE)).toBe(false);
      expect(await store.update("nobody", 0, CHANGE)).toBe(false);
      expect(await store.findById(USER.id)).toEqual(USER);
    });

    it("update() lets one of many with the same revision win", async () => {
      await store.insert(USER);
      const results = await Promise.all(Array.from({ length: 20 }, () => store.update(USER.id, 0, CHANGE)));
      expect(results.filter(Boolean)).toHaveLength(1);
      expect((await store.findById(USER.id))?.revision).toBe(1);
    });

    it("keeps everything over a restart", async () => {
      await store.insert(USER);
      await store.update(USER.id, 0, CHANGE);
      expect(await (await subject.reopen()).findByEmailKey("ada@example.com")).toEqual({
        ...USER,
        ...CHANGE,
        revision: 1,
      });
    });

    it("findAvatarKeys() gives the keys of these users that have an avatar, and of no other", async () => {
      await store.insert(USER);
      await store.insert({ ...USER, id: "other", emailKey: "b@x.com", avatarKey: "avatars/b.png" });
      await store.insert({ ...USER, id: "bare", emailKey: "c@x.com", avatarKey: null });
      expect(await store.findAvatarKeys([USER.id, "bare", "nobody", "' OR 1=1 --"])).toEqual(
        new Set(["avatars/a.png"]),
      );
      expect(await store.findAvatarKeys([])).toEqual(new Set());
    });

    it("ping() resolves while the store is open", async () => {
      await expect(store.ping()).resolves.toBeUndefined();
    });

    it("rejects with database_unavailable once closed", async () => {
      await subject.close();
      const failure = { code: "database_unavailable", transient: true };
      await expect(store.ping()).rejects.toMatchObject(failure);
      await expect(store.findById(USER.id)).rejects.toMatchObject(failure);
      await expect(store.insert(USER)).rejects.toMatchObject(failure);
      await expect(store.update(USER.id, 0, CHANGE)).rejects.toMatchObject(failure);
      await expect(store.findAvatarKeys([USER.id])).rejects.toMatchObject(failure);
    });
  });
}
