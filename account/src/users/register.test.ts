// The image of a user whose record cannot be stored, or about whose record it is unknown whether it
// was.
import { createSecretKey } from "node:crypto";
import { silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AccountError } from "../errors.ts";
import type { CleanImage } from "../media/image.ts";
import { StoreError } from "../store/store-error.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { Caller } from "./account-deps.ts";
import { register, type RegisterDeps } from "./register.ts";

const ID = "22222222-2222-4222-8222-222222222222";
const KEY = `avatars/${ID}/0123456789abcdef0123456789abcdef.png`;
const IMAGE: CleanImage = { format: "png", width: 16, height: 16, bytes: Buffer.from("picture") };
const INPUT = { email: { typed: "Ada@x.com", key: "ada@x.com" }, password: "correct horse battery", name: null };
const CALLER: Caller = { device: { userAgent: "", ipPrefix: "" }, addressPrefix: "203.0.113.7", log: silentLog() };
const NOT_STORED = new StoreError("not_applied", new Error("refused"));
const UNKNOWN = new StoreError("unknown", new Error("no answer"));

/**
 * A store, a media store and a hasher that keep the rules of the real ones; single steps can be
 * replaced.
 */
class Fixture {
  readonly users = new Map<string, UserRecord>();
  readonly images = new Set<string>();
  hashes = 0;
  readonly groups: string[] = [];
  orphans = 0;
  registered = 0;
  insert = (user: UserRecord): Promise<"inserted" | "email_taken"> => {
    if ([...this.users.values()].some(({ emailKey }) => emailKey === user.emailKey))
      return Promise.resolve("email_taken");
    this.users.set(user.id, user);
    return Promise.resolve("inserted");
  };
  put = (key: string): Promise<string> => {
    this.images.add(key);
    return Promise.resolve(`https://media.example/${key}`);
  };
  remove = (key: string): Promise<void> => {
    this.images.delete(key);
    return Promise.resolve();
  };
  /** Happens while the call waits for its turn to hash. */
  whileWaiting = (): void => undefined;

  readonly deps: RegisterDeps = {
    store: {
      insert: (user) => this.insert(user),
      findByEmailKey: (key) => Promise.resolve([...this.users.values()].find(({ emailKey }) => emailKey === key)),
    },
    media: {
      put: (key) => this.put(key),
      remove: (key) => this.remove(key),
      list: () => ReadableStream.from([]),
    },
    hasher: {
      hash: async (_password, group, checkWanted) => {
        this.groups.push(group);
        this.whileWaiting();
        await checkWanted?.();
        this.hashes += 1;
        return "hash";
      },
      verify: () => Promise.resolve(false),
      isOutdated: () => false,
    },
    events: {
      loggedIn: () => undefined,
      refreshed: () => undefined,
      registered: () => (this.registered += 1),
      mediaStored: () => undefined,
      mediaOrphaned: () => (this.orphans += 1),
    },
    clock: () => 1_800_000_000_000,
    newId: () => ID,
    newMediaName: () => "0123456789abcdef0123456789abcdef",
    random: () => 0,
    labelKey: createSecretKey(Buffer.alloc(32, 2)),
    idKey: () => createSecretKey(Buffer.alloc(32, 1)),
  };

  register(caller = CALLER): Promise<UserRecord> {
    return register(this.deps, INPUT, IMAGE, caller);
  }

  /** Another call takes the address. */
  takeAddress(): void {
    this.users.set("other", { emailKey: INPUT.email.key } as UserRecord);
  }
}

let fixture: Fixture;

beforeEach(() => {
  vi.useFakeTimers();
  fixture = new Fixture();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("register()", () => {
  it("stores the user with the image's key and URL", async () => {
    await fixture.register();
    expect(fixture.users.get(ID)).toMatchObject({
      email: "Ada@x.com",
      avatarKey: KEY,
      avatar: `https://media.example/${KEY}`,
      sessions: [],
    });
    expect([[...fixture.images], fixture.registered, fixture.orphans]).toEqual([[KEY], 1, 0]);
  });

  it("neither hashes nor stores an image when another call takes the address while this one waits", async () => {
    fixture.whileWaiting = () => {
      fixture.takeAddress();
    };
    await expect(fixture.register()).rejects.toMatchObject({ code: "email_taken" });
    expect([fixture.hashes, fixture.images.size]).toEqual([0, 0]);
  });

  it("takes turns with its /48", async () => {
    await fixture.register({ ...CALLER, addressPrefix: "2001:db8:1:2::/64" });
    expect(fixture.groups).toEqual(["2001:db8:1::/48"]);
  });

  it("removes the image when another call takes the address at the last moment", async () => {
    fixture.insert = () => Promise.resolve("email_taken");
    await expect(fixture.register()).rejects.toMatchObject({
      code: "email_taken",
      details: { fields: [{ field: "email" }] },
    });
    expect([fixture.images.size, fixture.registered]).toEqual([0, 0]);
  });

  it("removes the image when its store did not answer, and does not report when that fails too", async () => {
    const down = new AccountError("media_store_unavailable", "The media store is down.");
    fixture.put = (key) => {
      fixture.images.add(key); // It arrived; its answer did not.
      return Promise.reject(down);
    };
    await expect(fixture.register()).rejects.toBe(down);
    expect([fixture.images.size, fixture.users.size]).toEqual([0, 0]);
    fixture.remove = () => Promise.reject(down);
    await expect(fixture.register()).rejects.toBe(down);
    expect(fixture.orphans).toBe(0);
  });

  it("removes the image when the store refused the write", async () => {
    fixture.insert = () => Promise.reject(NOT_STORED);
    await expect(fixture.register()).rejects.toBe(NOT_STORED);
    expect(fixture.images.size).toBe(0);
  });

  it("keeps the image when it is unknown whether the write was done", async () => {
    fixture.insert = () => Promise.reject(UNKNOWN);
    await expect(fixture.register()).rejects.toBe(UNKNOWN);
    expect([...fixture.images]).toEqual([KEY]);
  });

  it.each([
    {
      how: "fails",
      remove: () => Promise.reject(new AccountError("media_store_unavailable", "The media store is down.")),
    },
    { how: "never ends", remove: () => new Promise<never>(() => undefined) },
  ])("still reports that the address is taken when the removal $how, and counts the orphan", async ({ remove }) => {
    fixture.insert = () => Promise.resolve("email_taken");
    fixture.remove = remove;
    const outcome = expect(fixture.register()).rejects.toMatchObject({ code: "email_taken" });
    await vi.advanceTimersByTimeAsync(2000);
    await outcome;
    expect(fixture.orphans).toBe(1);
  });
});
