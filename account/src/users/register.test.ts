// The image of a user whose record cannot be stored, or about whose record it is unknown whether it
// was.
import { createSecretKey } from "node:crypto";
import { callerGroup } from "@weir/common/callers/caller-group";
import { silentLog } from "@weir/common/log/log";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { AccountError } from "../errors.ts";
import type { CleanImage, ImageResult } from "../media/image.ts";
import { StoreError } from "../store/store-error.ts";
import type { UserRecord } from "../store/user-store.ts";
import type { Caller } from "./account-deps.ts";
import { register, type RegisterDeps } from "./register.ts";

const ID = "22222222-2222-4222-8222-222222222222";
const KEY = `avatars/${ID}/0123456789abcdef0123456789abcdef.png`;
const IMAGE: CleanImage = { format: "png", width: 16, height: 16, bytes: Buffer.from("picture") };
const INPUT = { email: { typed: "Ada@x.com", key: "ada@x.com" }, password: "correct horse battery", name: null };
const CALLER: Caller = {
  device: { userAgent: "", ipPrefix: "" },
  group: callerGroup("2001:db8:1:2::3"),
  log: silentLog(),
};
const NOT_STORED = new StoreError("not_applied", new Error("refused"));
const UNKNOWN = new StoreError("unknown", new Error("no answer"));
const DOWN = new AccountError("media_store_unavailable", "The media store is down.");

/**
 * A store, a media store and a hasher that keep the rules of the real ones; single steps can be
 * replaced.
 */
class Fixture {
  readonly users = new Map<string, UserRecord>();
  readonly images = new Set<string>();
  readonly intents = new Set<string>();
  nowMs = 1_800_000_000_000;
  hashes = 0;
  /** The steps that were taken, in this order. */
  readonly steps: string[] = [];
  readonly call = new AbortController();
  image: ImageResult = { ok: true, image: IMAGE };
  registered = 0;
  insert = (user: UserRecord): Promise<"inserted" | "email_taken"> => {
    if ([...this.users.values()].some(({ emailKey }) => emailKey === user.emailKey))
      return Promise.resolve("email_taken");
    this.users.set(user.id, user);
    this.intents.delete(user.avatarKey ?? "");
    return Promise.resolve("inserted");
  };
  put = (key: string): Promise<void> => {
    if (!this.intents.has(key)) return Promise.reject(new Error("nothing would lead to the image"));
    this.images.add(key);
    return Promise.resolve();
  };
  remove = (key: string): Promise<void> => {
    this.images.delete(key);
    return Promise.resolve();
  };
  /** Happens while the call waits for its turn to hash. */
  whileWaiting = (): void => undefined;

  readonly deps: RegisterDeps = {
    store: {
      insert: (user) => {
        this.steps.push("insert");
        return this.insert(user);
      },
      findByEmailKey: (key) => {
        this.steps.push("look up");
        return Promise.resolve([...this.users.values()].find(({ emailKey }) => emailKey === key));
      },
      addMediaIntent: ({ key }) => {
        this.intents.add(key);
        return Promise.resolve();
      },
      removeMediaIntent: (key) => {
        this.intents.delete(key);
        return Promise.resolve();
      },
    },
    media: {
      put: (key) => {
        this.steps.push("upload");
        return this.put(key);
      },
      remove: (key) => this.remove(key),
      url: (key) => `https://media.example/${key}`,
    },
    images: {
      clean: () => {
        this.steps.push("image");
        return Promise.resolve(this.image);
      },
    },
    hasher: {
      reserve: (networks) => {
        this.steps.push(`place of ${networks.join(" ")}`);
        return { run: (work) => work(), [Symbol.dispose]: () => this.steps.push("place given up") };
      },
      hash: async (_password, _place, checkWanted) => {
        this.steps.push("hash");
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
    },
    clock: () => this.nowMs,
    processId: "process",
    newId: () => ID,
    newMediaName: () => "0123456789abcdef0123456789abcdef",
    random: () => 0,
    labelKey: createSecretKey(Buffer.alloc(32, 2)),
  };

  register(): Promise<UserRecord> {
    return register(this.deps, INPUT, IMAGE.bytes, CALLER, this.call);
  }

  /** Another call takes the address. */
  takeAddress(): void {
    this.users.set("other", { emailKey: INPUT.email.key } as UserRecord);
  }
}

let fixture: Fixture;

beforeEach(() => {
  fixture = new Fixture();
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
    expect([[...fixture.images], fixture.registered, fixture.intents.size]).toEqual([[KEY], 1, 0]);
  });

  it("neither hashes nor stores an image when another call takes the address while this one waits", async () => {
    fixture.whileWaiting = () => {
      fixture.takeAddress();
    };
    await expect(fixture.register()).rejects.toMatchObject({ code: "email_taken" });
    expect([fixture.hashes, fixture.images.size]).toEqual([0, 0]);
  });

  it("looks the address up, takes a place for the hash, decodes, hashes, uploads and inserts, in this order", async () => {
    await fixture.register();
    const place = `place of ${CALLER.group.networks.join(" ")}`;
    expect(fixture.steps).toEqual(["look up", place, "image", "hash", "look up", "upload", "insert", "place given up"]);
  });

  it("gives its place up when the image is refused", async () => {
    fixture.image = { ok: false, problem: "damaged" };
    await expect(fixture.register()).rejects.toMatchObject({ code: "avatar_invalid" });
    expect(fixture.steps.slice(2)).toEqual(["image", "place given up"]);
  });

  it("ends before the upload when it must make place while its hash is made", async () => {
    fixture.whileWaiting = () => fixture.call.abort(new Error("busy"));
    await expect(fixture.register()).rejects.toThrow("busy");
    expect(fixture.images.size).toBe(0);
  });

  it.each([
    {
      how: "another call takes the address",
      insert: () => Promise.resolve("email_taken" as const),
      code: "email_taken",
    },
    { how: "the store refuses the write", insert: () => Promise.reject(NOT_STORED), code: "database_unavailable" },
  ])("removes the image and its intent when $how at the last moment", async ({ insert, code }) => {
    fixture.insert = insert;
    await expect(fixture.register()).rejects.toMatchObject({ code });
    await vi.waitFor(() => expect([fixture.images.size, fixture.intents.size]).toEqual([0, 0]));
    expect(fixture.registered).toBe(0);
  });

  it.each([
    { how: "fails", remove: () => Promise.reject(DOWN) },
    { how: "never ends", remove: () => new Promise<never>(() => undefined) },
  ])("answers that the address is taken when the removal $how, and keeps the intent", async ({ remove }) => {
    fixture.insert = () => Promise.resolve("email_taken");
    fixture.remove = remove;
    await expect(fixture.register()).rejects.toMatchObject({ details: { fields: [{ field: "email" }] } });
    expect([...fixture.intents]).toEqual([KEY]);
  });

  it("leaves the intent when the media store did not answer: the image may have arrived", async () => {
    fixture.put = () => Promise.reject(DOWN);
    await expect(fixture.register()).rejects.toBe(DOWN);
    expect([[...fixture.intents], fixture.users.size]).toEqual([[KEY], 0]);
  });

  it("keeps the image and its intent when it is unknown whether the write was done", async () => {
    fixture.insert = () => Promise.reject(UNKNOWN);
    await expect(fixture.register()).rejects.toBe(UNKNOWN);
    expect([[...fixture.images], [...fixture.intents]]).toEqual([[KEY], [KEY]]);
  });

  it("stores no user whose image the clean-up may be removing, as the machine slept during the upload", async () => {
    fixture.put = () => {
      fixture.nowMs += 3_600_000;
      return Promise.resolve();
    };
    await expect(fixture.register()).rejects.toMatchObject({ code: "media_store_unavailable" });
    expect([[...fixture.intents], fixture.users.size]).toEqual([[KEY], 0]);
  });
});
