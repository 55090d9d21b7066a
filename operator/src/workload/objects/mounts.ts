// The Secrets that the pods of a workload mount as files, and where. Their values are never read through
// the API.
import { RATELIMIT_SECRET } from "../../certificates/certificate-secret.ts";
import type { Workload } from "./workload.ts";

/** The folder of the mounted files. */
const FOLDER = "/etc/weir";

/** Owner and group may read. */
const FILE_MODE = 0o440;

/** One mounted Secret: the keys of the Secret by the names of the files. */
export interface Mount {
  /** Name of the volume, and of its folder. */
  readonly name: string;
  readonly secretName: string;
  readonly keys: Readonly<Record<string, string>>;
}

/** A key of a Secret, as a resource refers to it. */
interface SecretKey {
  readonly name: string;
  readonly key: string;
}

/** TLS to a store, as a resource describes it. */
interface StoreTls {
  readonly caSecretRef?: SecretKey | undefined;
  readonly clientCertificateSecret?: string | undefined;
}

/** Files of a pair, as Kubernetes names them in a Secret of type kubernetes.io/tls. */
const PAIR = { "tls.crt": "tls.crt", "tls.key": "tls.key" } as const;

/** The path of a file of a mount. */
export function mountedPath(mount: string, file: string): string {
  return `${FOLDER}/${mount}/${file}`;
}

/** Everything that the pods mount. */
export function mountsOf(workload: Workload): readonly Mount[] {
  return [...controlPlaneMounts(workload), ...grpcMounts(workload), ...storeMounts(workload)];
}

/** The volumes of a pod. */
export function volumesOf(mounts: readonly Mount[]): readonly object[] {
  return mounts.map(({ name, secretName, keys }) => {
    const items = Object.entries(keys).map(([path, key]) => ({ key, path }));
    return { name, secret: { secretName, items, defaultMode: FILE_MODE } };
  });
}

/** The volume mounts of the container. No subPath: such files never change. */
export function volumeMountsOf(mounts: readonly Mount[]): readonly object[] {
  return mounts.map(({ name }) => ({ name, mountPath: `${FOLDER}/${name}`, readOnly: true }));
}

function controlPlaneMounts({ name, spec: { controlPlane = {} }, options }: Workload): readonly Mount[] {
  const { address, plaintext = address === undefined && options.controlPlane.isPlaintext } = controlPlane;
  if (plaintext) return [];
  const own = { "tls.crt": `${name}.crt`, "tls.key": `${name}.key`, "ca.crt": "ca.crt" };
  const { certificateSecret } = controlPlane;
  return certificateSecret === undefined
    ? [{ name: "tls", secretName: RATELIMIT_SECRET, keys: own }]
    : [{ name: "tls", secretName: certificateSecret, keys: { ...PAIR, "ca.crt": "ca.crt" } }];
}

function grpcMounts({ spec: { tls } }: Workload): readonly Mount[] {
  if (tls === undefined) return [];
  const pair = { name: "grpc-tls", secretName: tls.certificateSecret, keys: PAIR };
  return [pair, ...mountOf("grpc-client-ca", "ca.crt", tls.clientCertificates?.caSecretRef)];
}

function storeMounts({ spec: { backend } }: Workload): readonly Mount[] {
  switch (backend.type) {
    case "memory":
      return [];
    case "memcached":
      return storeTlsMounts(backend.memcached?.tls);
    case "redis": {
      const { redis } = backend;
      const perSecond = redis?.perSecond;
      return [
        ...mountOf("store-auth", "password", redis?.auth?.passwordSecretRef),
        ...mountOf("sentinel-auth", "password", redis?.sentinel?.auth?.passwordSecretRef),
        ...mountOf("per-second-auth", "password", perSecond?.auth?.passwordSecretRef),
        ...mountOf("per-second-sentinel-auth", "password", perSecond?.sentinel?.auth?.passwordSecretRef),
        ...storeTlsMounts(redis?.tls),
      ];
    }
  }
}

function storeTlsMounts(tls: StoreTls | undefined): readonly Mount[] {
  const { caSecretRef, clientCertificateSecret } = tls ?? {};
  return [
    ...mountOf("store-ca", "ca.crt", caSecretRef),
    ...(clientCertificateSecret === undefined
      ? []
      : [{ name: "store-tls", secretName: clientCertificateSecret, keys: PAIR }]),
  ];
}

function mountOf(name: string, file: string, reference: SecretKey | undefined): readonly Mount[] {
  return reference === undefined ? [] : [{ name, secretName: reference.name, keys: { [file]: reference.key } }];
}
