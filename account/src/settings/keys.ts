// The settings of the token keys and of the key of account labels, and the check for weak secrets.
import type { EnvReader } from "@weir/common/settings/read-env";
import { REDACTED, type Secret } from "@weir/common/settings/secret";
import type { KeySource } from "../sessions/open-keys.ts";
import { faultOfSecret, SECRET_MIN_BYTES } from "../sessions/secret-fault.ts";

const SECRET_ALLOWED = `at least ${SECRET_MIN_BYTES} random bytes`;

/** The secrets of the service, but for passwords. */
export interface KeySettings {
  readonly keys: KeySource;
  /** Keys the labels of accounts; undefined: made at the first start and kept in DATA_DIR. */
  readonly labelSecret: Secret | undefined;
}

/**
 * Reads the keys. Weak secrets are a problem in production and a warning elsewhere; no message ever
 * holds one.
 */
export function readKeys(read: EnvReader, isProduction: boolean, warnings: string[]): KeySettings {
  const keys = readKeySource(read, isProduction);
  const labelSecret = read.secret("ACCOUNT_LABEL_SECRET", {
    effect:
      "Keys the labels of accounts in logs and rate limits; the same for all replicas, needed with NODE_ENV=production.",
  });
  if (labelSecret === undefined && isProduction)
    read.problem("ACCOUNT_LABEL_SECRET", undefined, `${SECRET_ALLOWED}, the same for all replicas`);
  const secrets = [
    ...(keys.kind === "secrets"
      ? [
          { name: "ACCESS_TOKEN_SECRET", secret: keys.access.reveal() },
          { name: "REFRESH_TOKEN_SECRET", secret: keys.refresh.reveal() },
        ]
      : []),
    ...(labelSecret === undefined ? [] : [{ name: "ACCOUNT_LABEL_SECRET", secret: labelSecret.reveal() }]),
  ];
  for (const { name, fault } of findFaults(secrets)) {
    if (isProduction) read.problem(name, REDACTED, fault);
    else warnings.push(`${name} must be ${fault} in production`);
  }
  return { keys, labelSecret };
}

function readKeySource(read: EnvReader, isProduction: boolean): KeySource {
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
  return { kind: "secrets", access, refresh };
}

/** A secret with the name of its setting. */
interface NamedSecret {
  readonly name: string;
  readonly secret: string;
}

function findFaults(secrets: readonly NamedSecret[]): readonly { readonly name: string; readonly fault: string }[] {
  return secrets.flatMap(({ name, secret }, index) => {
    const earlier = secrets.slice(0, index).find((other) => other.secret === secret);
    const repeated = earlier === undefined ? undefined : `another secret than ${earlier.name}`;
    return [faultOfSecret(secret), repeated].flatMap((fault) => (fault === undefined ? [] : [{ name, fault }]));
  });
}
