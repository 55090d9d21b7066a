// Names the Secrets and the store that the pods of a workload need before they are ready, for people. Pure.
import type { RateLimitServiceSpec } from "@weir/crds/rate-limit-service/schema/schema";

import { RATELIMIT_SECRET } from "../certificates/certificate-secret.ts";
import { mountsOf } from "./objects/mounts.ts";
import { MANAGED_LABEL, MANAGER } from "../leader/managed-by.ts";
import type { Workload } from "./objects/workload.ts";
import type { PodSurroundings } from "./pod-obstacles.ts";

/**
 * The needs. `foreignSecrets`: `<namespace>/<name>` of Secrets with the names of the operator's that it does
 * not keep.
 */
export function needsOf(
  workload: Workload,
  foreignSecrets: ReadonlySet<string>,
): Pick<PodSurroundings, "secrets" | "foreignCertificate" | "store"> {
  const mounts = mountsOf(workload);
  const isForeign =
    mounts.some(({ secretName }) => secretName === RATELIMIT_SECRET) &&
    foreignSecrets.has(`${workload.namespace}/${RATELIMIT_SECRET}`);
  const keysOf = (secretName: string): string =>
    mounts.flatMap((mount) => (mount.secretName === secretName ? Object.values(mount.keys) : [])).join(", ");
  const names = [...new Set(mounts.map(({ secretName }) => secretName))];
  const secrets = names.map((name) => `the Secret ${name} (${keysOf(name)})`).join(", ");
  return {
    secrets: secrets === "" ? undefined : secrets,
    foreignCertificate: isForeign
      ? `the operator does not keep ${RATELIMIT_SECRET}, because it has no label ${MANAGED_LABEL}=${MANAGER}`
      : undefined,
    store: storeOf(workload.spec.backend),
  };
}

function storeOf({ type, redis, memcached }: RateLimitServiceSpec["backend"]): string | undefined {
  switch (type) {
    case "memory":
      return undefined;
    case "redis": {
      const { single, sentinel, cluster } = redis ?? {};
      const addresses = single ? [single.address] : (sentinel?.addresses ?? cluster?.addresses ?? []);
      return `redis at ${addresses.join(", ")}`;
    }
    case "memcached":
      return `memcached at ${memcached?.srv ?? (memcached?.addresses ?? []).join(", ")}`;
  }
}
