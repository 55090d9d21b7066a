import { Secret } from "@weir/common/settings/secret";
import { describe, expect, it } from "vitest";
import type { Place } from "../fairness/work-queue.ts";
import { type Bcrypt, createPasswordHasher, type PasswordHasher } from "./password-hasher.ts";

/** The networks of every call. */
const GROUP = ["203.0.113.7"];

/** A place whose turn comes immediately, and a queue of such places. */
const PLACE: Place = { run: (work) => work(), [Symbol.dispose]: () => undefined };
const QUEUE = {
  run: <T>(_networks: readonly string[], work: () => Promise<T>): Promise<T> => work(),
  reserve: () => PLACE,
};

function hasher(options: { cost?: number; pepper?: string } = {}): PasswordHasher {
  return createPasswordHasher(QUEUE, {
    cost: options.cost ?? 4,
    pepper: options.pepper === undefined ? undefined : new Secret(options.pepper),
  });
}

describe("createPasswordHasher()", () => {
  it("stores a bcrypt hash of the cost and verifies it", async () => {
    const hash = await hasher().hash("correct horse", PLACE);
    expect(hash).toMatch(/^\$2b\$04\$.{53}$/);
    expect([
      await hasher().verify("correct horse", hash, GROUP),
      await hasher().verify("correct hors", hash, GROUP),
    ]).toEqual([true, false]);
  });

  it("refuses what only begins like a password of 72 bytes", async () => {
    const password = "x".repeat(72);
    const hash = await hasher().hash(password, PLACE);
    expect([await hasher().verify(password, hash, GROUP), await hasher().verify(`${password}X`, hash, GROUP)]).toEqual([
      true,
      false,
    ]);
    await expect(hasher().hash(`${password}X`, PLACE)).rejects.toThrow(
      "Cannot hash the password: bcrypt would ignore its end",
    );
  });

  it("counts what follows a NUL", async () => {
    const hash = await hasher().hash("a\u0000bcdefgh", PLACE);
    expect([await hasher().verify("a\u0000bcdefgh", hash, GROUP), await hasher().verify("a", hash, GROUP)]).toEqual([
      true,
      false,
    ]);
  });

  it.each([undefined, "", "not a hash", "$2b$04$short"])("is false for the stored hash %j", async (stored) => {
    expect(await hasher().verify("anything", stored, GROUP)).toBe(false);
  });

  it.each([
    { name: "an unknown user", stored: undefined, matches: false },
    { name: "an unusable hash", stored: "unusable", matches: false },
    { name: "a hash of a cost that bcrypt does not have", stored: `$2b$03$${"x".repeat(53)}`, matches: false },
    { name: "a hash whose pepper is not set", stored: `{hmac-sha384}$2b$12$${"x".repeat(53)}`, matches: false },
    { name: "a hash of today's cost", stored: `$2b$12$${"x".repeat(53)}`, matches: false },
    { name: "a hash of the cost before", stored: `$2b$11$${"x".repeat(53)}`, matches: false },
    { name: "a much cheaper hash", stored: `$2b$04$${"x".repeat(53)}`, matches: false },
    { name: "a cheaper hash that 72 of 73 bytes match", stored: `$2b$10$${"x".repeat(53)}`, matches: true },
  ])("does the work of one comparison at today's cost when it refuses $name", async ({ stored, matches }) => {
    const costs: number[] = [];
    const bcrypt: Bcrypt = {
      hash: () => Promise.reject(new Error("not expected")),
      compare: (_password, bcryptHash) => {
        costs.push(Number(bcryptHash.split("$")[2]));
        return Promise.resolve(matches && bcryptHash === stored);
      },
    };
    let turns = 0;
    const queue = {
      ...QUEUE,
      run: <T>(_networks: readonly string[], work: () => Promise<T>): Promise<T> => {
        turns += 1;
        return work();
      },
    };
    const counting = createPasswordHasher(queue, { cost: 12, pepper: undefined }, bcrypt);
    const rounds = (): number => costs.reduce((sum, cost) => sum + 2 ** cost, 0);
    expect(await counting.verify("abdefgjkm".repeat(8) + "X", stored, GROUP)).toBe(false);
    // A comparison that ends in a match has no padding: the answer reveals more than its time. Here
    // the password is too long, so the answer is no.
    expect([rounds(), turns]).toEqual([4096, 1]);
  });

  it("takes long passwords with a pepper, and marks their hashes", async () => {
    const peppered = hasher({ pepper: "pepper" });
    const hash = await peppered.hash("é".repeat(100), PLACE);
    expect(hash).toMatch(/^\{hmac-sha384\}\$2b\$04\$/);
    expect([
      await peppered.verify("é".repeat(100), hash, GROUP),
      await peppered.verify("é".repeat(99), hash, GROUP),
    ]).toEqual([true, false]);
    expect([
      await hasher({ pepper: "other" }).verify("é".repeat(100), hash, GROUP),
      await hasher().verify("é".repeat(100), hash, GROUP),
    ]).toEqual([false, false]);
  });

  it("still verifies hashes from before the pepper", async () => {
    const hash = await hasher().hash("correct horse", PLACE);
    expect(await hasher({ pepper: "pepper" }).verify("correct horse", hash, GROUP)).toBe(true);
  });
});

describe("isOutdated()", () => {
  it.each([
    { stored: `$2b$12$${"x".repeat(53)}`, isOutdated: false },
    { stored: `$2b$13$${"x".repeat(53)}`, isOutdated: false },
    { stored: `$2b$11$${"x".repeat(53)}`, isOutdated: true },
    { stored: `{hmac-sha384}$2b$12$${"x".repeat(53)}`, isOutdated: true },
    { stored: "garbage", isOutdated: true },
  ])("is $isOutdated for $stored at cost 12", ({ stored, isOutdated }) => {
    expect(hasher({ cost: 12 }).isOutdated(stored)).toBe(isOutdated);
  });

  it("is true for a hash without the pepper that is set", () => {
    expect(hasher({ cost: 12, pepper: "p" }).isOutdated(`$2b$12$${"x".repeat(53)}`)).toBe(true);
  });
});
