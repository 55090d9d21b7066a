// The public keys of access tokens as a JSON Web Key Set (RFC 7517), with which other services verify them.
import { createPublicKey } from "node:crypto";
import { z } from "zod";
import type { KeyRing } from "./key-ring.ts";

/** The key set; its members are the public ones only. */
export const KEY_SET = z
  .object({
    keys: z.array(
      z.object({
        kid: z.string().meta({ description: "Named by the header of each token." }),
        alg: z.enum(["ES256", "Ed25519"]),
        use: z.literal("sig"),
        kty: z.enum(["EC", "OKP"]),
        crv: z.enum(["P-256", "Ed25519"]),
        x: z.string(),
        y: z.string().optional(),
      }),
    ),
  })
  .meta({ id: "KeySet", description: "A JSON Web Key Set. Without public keys, as with HS256, it is empty." });

export type KeySet = Readonly<z.infer<typeof KEY_SET>>;

/** The keys of a ring that verify, without secret ones: their readers could sign. */
export function publicKeySet({ verifying }: Pick<KeyRing, "verifying">): KeySet {
  return KEY_SET.parse({
    keys: [...verifying.values()]
      .filter(({ key }) => key.type !== "secret")
      .map(({ id, algorithm, key }) => {
        const { kty, crv, x, y } = (key.type === "private" ? createPublicKey(key) : key).export({ format: "jwk" });
        return { kid: id, alg: algorithm, use: "sig", kty, crv, x, ...(y !== undefined && { y }) };
      }),
  });
}
