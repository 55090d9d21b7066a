// The settings of the token keys, and the check for weak secrets.
import type { EnvReader } from "@weir/common/settings/read-env";
import { REDACTED, type Secret } from "@weir/common/settings/secret";
import { SECRET_MIN_BYTES } from "./sessions/key-ring.ts";

/** Words of examples that people forget to replace. */
const PLACEHOLDER =
  /change.?(me|it|this)|replace.?(me|this)|placeholder|example|default|your.?.*(secret|key)|insecure|todo/i;

/** Fewest different characters of a secret: fewer come from a key that is held down. */
const DISTINCT_MIN = 8;

const SECRET_ALLOWED = `at least ${SECRET_MIN_BYTES} random bytes`;

/** Where the keys of tokens come from. */
export type KeySource =
  | { readonly kind: "secrets"; readonly access: Secret; readonly refresh: Secret }
  | { readonly kind: "file"; readonly path: string }
  /** Made at the first start and kept in DATA_DIR; for development. */
  | { readonly kind: "generated" };

/**
 * Reads the source of the keys. Weak secrets are a problem in production and a warning elsewhere;
 * no message ever holds one.
 */
export function readKeySource(read: EnvReader, isProduction: boolean, warnings: string[]): KeySource {
  const access = read.secret("ACCESS_TOKEN_SECRET", {
    effect: `Signs access tokens; at least ${SECRET_MIN_BYTES} random bytes.`,
  });
  const refresh = read.secret("REFRESH_TOKEN_SECRET", {
    effect: "Signs refresh tokens; another one than ACCESS_TOKEN_SECRET.",
  });
  const path = read.optionalString("TOKEN_KEYS_FILE", {
    effect: "JSON list of {kid, use, alg, key, state} in place of the two secrets; read again when it changes.",
  });
  if (path !== undefined) {
    if (access !== undefined || refresh !== undefined)
      read.problem("TOKEN_KEYS_FILE", path, "set only without ACCESS_TOKEN_SECRET and REFRESH_TOKEN_SECRET");
    return { kind: "file", path };
  }
  if (access === undefined && refresh === undefined) {
    if (isProduction) {
      for (const name of ["ACCESS_TOKEN_SECRET", "REFRESH_TOKEN_SECRET"])
        read.problem(name, undefined, `${SECRET_ALLOWED}; production needs both secrets or TOKEN_KEYS_FILE`);
    }
    return { kind: "generated" };
  }
  if (access === undefined || refresh === undefined) {
    const [missing, other] =
      access === undefined
        ? ["ACCESS_TOKEN_SECRET", "REFRESH_TOKEN_SECRET"]
        : ["REFRESH_TOKEN_SECRET", "ACCESS_TOKEN_SECRET"];
    read.problem(missing, undefined, `${SECRET_ALLOWED}, because ${other} is set`);
    return { kind: "generated" };
  }
  for (const { name, fault } of findFaults(access.reveal(), refresh.reveal())) {
    if (isProduction) read.problem(name, REDACTED, fault);
    else warnings.push(`${name} must be ${fault} in production`);
  }
  return { kind: "secrets", access, refresh };
}

function findFaults(access: string, refresh: string): readonly { name: string; fault: string }[] {
  const faults = [
    { name: "ACCESS_TOKEN_SECRET", fault: faultOf(access) },
    { name: "REFRESH_TOKEN_SECRET", fault: faultOf(refresh) },
    { name: "REFRESH_TOKEN_SECRET", fault: access === refresh ? "another secret than ACCESS_TOKEN_SECRET" : undefined },
  ];
  return faults.flatMap(({ name, fault }) => (fault === undefined ? [] : [{ name, fault }]));
}

function faultOf(secret: string): string | undefined {
  if (Buffer.byteLength(secret) < SECRET_MIN_BYTES) return `at least ${SECRET_MIN_BYTES} bytes long`;
  if (PLACEHOLDER.test(secret) || new Set(secret).size < DISTINCT_MIN) return "random, not a placeholder";
  return undefined;
}
