// What becomes of the image when the record of a user cannot be stored, or nobody knows whether it
// was.
import { createSecretKey } from "node:crypto";
import { silentLog } from "@weir/common/log/log";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { AccountError } from "../errors.ts";
import type { CleanImage } from "../media/image.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { Caller } from "./account-deps.ts";
import { register } from "./register.ts";
import type { RegisterDeps } from "./register.ts";

const ID = "22222222-2222-4222-8222-222222222222";
const KEY = `avatars/${ID}/0123456789abcdef0123456789abcdef.png`;
const IMAGE: CleanImage = { format: "png", width: 16, height: 16, bytes: Buffer.from("picture") };
const INPUT = { email: { typed: "Ada@x.com", key: "ada@x.com" }, password: "correct horse battery", name: null };
const CALLER: Caller = { device: { userAgent: "", ipPrefix: "" }, log: silentLog() };
const DOWN = new AccountError("database_unavailable", "The store is down.");

/**
 * A store, a media store and a hasher that keep the rules of the real ones; single steps can be
 * replaced.
 */
class World {
  readonly users = new Map<string, UserRecord>();
  readonly images = new Set<string>();
  hashes = 0;
  orphans = 0;
  registered = 0;
  insert = (user: UserRecord): Promise<"inserted" | "email_taken"> => {
    if ([...this.users.values()].some(({ emailKey }) => emailKey === user.emailKey))
      return Promise.resolve("email_taken");
    this.users.set(user.id, user);
    return Promise.resolve("inserted");
  };
  findById = (id: string): Promise<UserRecord | undefined> => Promise.resolve(this.users.get(id));
  remove = (key: string): Promise<void> => {
    this.images.delete(key);
    return Promise.resolve();
  };
  /** Happens while the call waits for its turn to hash. */
  whileWaiting = (): void => undefined;

  readonly deps: RegisterDeps = {
    store: {
      insert: (user) => this.insert(user),
      findById: (id) => this.findById(id),
      findByEmailKey: (key) => Promise.resolve([...this.users.values()].find(({ emailKey }) => emailKey === key)),
      update: () => Promise.resolve(false),
      ping: () => Promise.resolve(),
    },
    media: {
      put: (key) => {
        this.images.add(key);
        return Promise.resolve(`https://media.example/${key}`);
      },
      remove: (key) => this.remove(key),
    },
    hasher: {
      hash: async (_password, checkWanted) => {
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
    idKey: () => createSecretKey(Buffer.alloc(32, 1)),
  };

  register(): Promise<UserRecord> {
    return register(this.deps, INPUT, IMAGE, CALLER);
  }

  /** Another call takes the address. */
  takeAddress(): void {
    this.users.set("other", { emailKey: INPUT.email.key } as UserRecord);
  }
}

let world: World;

beforeEach(() => {
  vi.useFakeTimers();
  world = new World();
});

afterEach(() => {
  vi.useRealTimers();
});

describe("register()", () => {
  it("stores the user with the image's key and URL", async () => {
    await world.register();
    expect(world.users.get(ID)).toMatchObject({
      email: "Ada@x.com",
      avatarKey: KEY,
      avatar: `https://media.example/${KEY}`,
      sessions: [],
    });
    expect([[...world.images], world.registered, world.orphans]).toEqual([[KEY], 1, 0]);
  });

  it("neither hashes nor stores an image when another call takes the address while this one waits", async () => {
    world.whileWaiting = () => {
      world.takeAddress();
    };
    await expect(world.register()).rejects.toMatchObject({ code: "email_taken" });
    expect([world.hashes, world.images.size]).toEqual([0, 0]);
  });

  it("removes the image when another call takes the address at the last moment", async () => {
    world.insert = () => Promise.resolve("email_taken");
    await expect(world.register()).rejects.toMatchObject({
      code: "email_taken",
      details: { fields: [{ field: "email" }] },
    });
    expect([world.images.size, world.registered]).toEqual([0, 0]);
  });

  it("keeps image and user when the write arrived although its answer did not", async () => {
    world.insert = (user) => {
      world.users.set(user.id, user);
      return Promise.reject(DOWN);
    };
    await expect(world.register()).resolves.toMatchObject({ id: ID });
    expect([[...world.images], world.registered]).toEqual([[KEY], 1]);
  });

  it("removes the image when the write failed and the store knows no such user", async () => {
    world.insert = () => Promise.reject(DOWN);
    await expect(world.register()).rejects.toBe(DOWN);
    expect(world.images.size).toBe(0);
  });

  it("keeps the image when nobody can say whether the write arrived", async () => {
    world.insert = () => Promise.reject(DOWN);
    world.findById = () => Promise.reject(DOWN);
    await expect(world.register()).rejects.toBe(DOWN);
    expect([...world.images]).toEqual([KEY]);
  });

  it.each([
    {
      how: "fails",
      remove: () => Promise.reject(new AccountError("media_store_unavailable", "The media store is down.")),
    },
    { how: "never ends", remove: () => new Promise<never>(() => undefined) },
  ])("still tells that the address is taken when the removal $how, and counts the orphan", async ({ remove }) => {
    world.insert = () => Promise.resolve("email_taken");
    world.remove = remove;
    const outcome = expect(world.register()).rejects.toMatchObject({ code: "email_taken" });
    await vi.advanceTimersByTimeAsync(2000);
    await outcome;
    expect(world.orphans).toBe(1);
  });
});
