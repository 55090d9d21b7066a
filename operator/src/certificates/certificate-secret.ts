// The Secrets with certificates: their names, how they are read, and how they are written.
import type { ObjectName, WrittenObject } from "@weir/kubernetes/client/object-client";
import type { ApiKind } from "@weir/kubernetes/client/api-resource";
import type { KubernetesObject } from "@weir/kubernetes/client/kubernetes-object";
import { fieldsOf, type Mapping, mappingOf, mappingsOf, textOf } from "@weir/kubernetes/mapping";

import { MANAGED_LABEL, MANAGER } from "../leader/managed-by.ts";

export const SECRETS: ApiKind = { group: "", version: "v1", plural: "secrets" };

/** The authority, in the operator's namespace. */
export const AUTHORITY_SECRET = "weir-ca";
/** The certificate of the control plane, in the operator's namespace. */
export const CONTROL_PLANE_SECRET = "weir-control-plane-tls";
/** The certificate of the operator, in its namespace. */
export const OPERATOR_SECRET = "weir-operator-tls";
/** The certificates of the data planes of a namespace. */
export const RATELIMIT_SECRET = "weir-ratelimit-tls";

/** The authorities to trust, in each of these Secrets. */
export const BUNDLE_KEY = "ca.crt";

/** Texts by key. */
export type SecretData = Readonly<Record<string, string>>;

/** A Secret as it should be. */
export interface WantedSecret extends Required<ObjectName> {
  readonly data: SecretData;
  readonly annotations?: Readonly<Record<string, string>>;
  /** The objects that it goes with, as in `metadata.ownerReferences`. */
  readonly owners?: readonly SecretOwner[];
}

/** An object that a Secret belongs to. */
export interface SecretOwner {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** A Secret of the cluster. */
export interface StoredSecret {
  readonly uid: string;
  readonly resourceVersion: string;
  /** True if it has our label; otherwise it is not changed. */
  readonly isManaged: boolean;
  /** Values that are no UTF-8 text are unreadable, not an error. */
  readonly data: SecretData;
  readonly annotations: Readonly<Record<string, string>>;
  /** Names of the data that this operator has written. */
  readonly ownKeys: readonly string[];
  /**
   * When anyone wrote it last, by the clock of the API server, in milliseconds since the epoch; undefined: it
   * does not say.
   */
  readonly writtenMs: number | undefined;
  readonly ownerUids: readonly string[];
}

/** Reads a Secret; what is not as it should be counts as absent. */
export function readSecret({ content, uid, resourceVersion }: KubernetesObject): StoredSecret {
  const metadata = mappingOf(content["metadata"]) ?? {};
  const owners = Array.isArray(metadata["ownerReferences"]) ? (metadata["ownerReferences"] as unknown[]) : [];
  const encoded = Object.entries(textsOf(content["data"]));
  const writers = mappingsOf(metadata["managedFields"]);
  const times = writers.map(({ time }) => Date.parse(textOf(time) ?? "")).filter((time) => !Number.isNaN(time));
  return {
    uid,
    resourceVersion,
    isManaged: textsOf(metadata["labels"])[MANAGED_LABEL] === MANAGER,
    data: Object.fromEntries(encoded.map(([key, value]) => [key, Buffer.from(value, "base64").toString()])),
    annotations: textsOf(metadata["annotations"]),
    ownKeys: ownKeysOf(writers.find(isOwn) ?? {}),
    writtenMs: times.length === 0 ? undefined : Math.max(...times),
    ownerUids: owners.map((owner) => mappingOf(owner)?.["uid"]).filter((uid) => typeof uid === "string"),
  };
}

/** Returns true if the Secret is as wanted, and has no further data of ours. */
export function isAsWanted(stored: StoredSecret, { data, annotations = {}, owners = [] }: WantedSecret): boolean {
  return (
    Object.entries(data).every(([key, value]) => stored.data[key] === value) &&
    stored.ownKeys.every((key) => Object.hasOwn(data, key)) &&
    Object.entries(annotations).every(([key, value]) => stored.annotations[key] === value) &&
    owners.every(({ uid }) => stored.ownerUids.includes(uid))
  );
}

/** The object to apply. With `stored`, only that version of the Secret is changed. */
export function secretObject(wanted: WantedSecret, stored: StoredSecret | undefined): WrittenObject {
  const { namespace, name, data, annotations, owners } = wanted;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      name,
      namespace,
      labels: { [MANAGED_LABEL]: MANAGER },
      ...(annotations !== undefined && { annotations }),
      ...(owners !== undefined && { ownerReferences: owners }),
      ...(stored !== undefined && { resourceVersion: stored.resourceVersion }),
    },
    data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, Buffer.from(text).toString("base64")])),
  };
}

function textsOf(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(mappingOf(value) ?? {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}

/** Returns true if an entry of `metadata.managedFields` is that of this operator. */
function isOwn({ manager, operation }: Mapping): boolean {
  return manager === MANAGER && operation === "Apply";
}

/** Names of the data in an entry of `metadata.managedFields`; `f:` precedes each name there. */
function ownKeysOf(own: Mapping): readonly string[] {
  return Object.keys(fieldsOf(fieldsOf(own["fieldsV1"])["f:data"]))
    .filter((field) => field.startsWith("f:"))
    .map((field) => field.slice("f:".length));
}
