// The volumes of a pod as folders of this machine: Secrets, ConfigMaps, tokens and fields of the pod, which are
// kept current, empty folders, and claims.
import { chmodSync, mkdirSync } from "node:fs";
import { join } from "node:path";

import { fieldsOf, type Mapping, mappingsOf, textOf } from "@weir/kubernetes/mapping";
import { MountedSecret } from "../kubernetes/mounted-secret.ts";

import type { Env } from "../processes/programs.ts";
import type { ClusterApi } from "../kubernetes/cluster-api.ts";
import type { ContainerMount } from "./container-root.ts";
import { podField, type PodPlace, type ReferencedData } from "./pod-environment.ts";

/** Share of the life of a token after which a kubelet replaces it. */
const TOKEN_RENEWAL = 0.8;

/** What volumes are made of. */
export interface VolumeSources {
  readonly api: ClusterApi;
  readonly data: ReferencedData;
  /** Where claims keep their files, beyond the life of pods. */
  readonly claims: string;
}

interface Token {
  readonly text: string;
  readonly renewalMs: number;
}

/** The volumes of one pod. */
export class PodVolumes {
  readonly #pod: Mapping;
  readonly #place: PodPlace;
  readonly #sources: VolumeSources;
  readonly #folder: string;
  readonly #volumes: readonly Mapping[];
  readonly #written = new Map<string, { readonly files: MountedSecret; text: string }>();
  readonly #tokens = new Map<string, Token>();

  /** `folder` is that of the pod. */
  constructor(pod: Mapping, place: PodPlace, sources: VolumeSources, folder: string) {
    this.#pod = pod;
    this.#place = place;
    this.#sources = sources;
    this.#folder = folder;
    this.#volumes = mappingsOf(fieldsOf(pod["spec"])["volumes"]);
  }

  /** Makes the folders (again) as the cluster has their contents now. Throws while something is missing. */
  async refresh(): Promise<void> {
    for (const volume of this.#volumes) {
      const name = String(volume["name"]);
      const folder = this.#folderOf(volume);
      const sources = projections(volume);
      if (sources === undefined) {
        mkdirSync(folder, { recursive: true });
        chmodSync(folder, 0o777); // What fsGroup is for in a cluster.
      } else this.#write(name, folder, await this.#valuesOf(sources));
    }
  }

  /** Where the container has them. */
  mounts(container: Mapping): readonly ContainerMount[] {
    return mappingsOf(container["volumeMounts"]).map(({ name, mountPath, subPath, readOnly }) => {
      const volume = this.#volumes.find((each) => each["name"] === name) ?? {};
      return {
        source: join(this.#folderOf(volume), textOf(subPath) ?? ""),
        target: String(mountPath),
        isReadOnly: readOnly === true || projections(volume) !== undefined,
      };
    });
  }

  #folderOf(volume: Mapping): string {
    const claim = textOf(fieldsOf(volume["persistentVolumeClaim"])["claimName"]);
    const { namespace } = fieldsOf(this.#pod["metadata"]);
    return claim === undefined
      ? join(this.#folder, "volumes", String(volume["name"]))
      : join(this.#sources.claims, String(namespace), claim);
  }

  #write(name: string, folder: string, values: Env): void {
    const text = JSON.stringify(values);
    const before = this.#written.get(name);
    if (before === undefined) this.#written.set(name, { files: new MountedSecret(values, folder), text });
    else if (before.text !== text) {
      before.files.replace(values);
      before.text = text;
    }
  }

  async #valuesOf(sources: readonly Mapping[]): Promise<Env> {
    const values: Record<string, string> = {};
    for (const source of sources) {
      const [[kind, given] = []] = Object.entries(source);
      const options = fieldsOf(given);
      if (kind === "serviceAccountToken") values[String(options["path"])] = await this.#token(options);
      else if (kind === "downwardAPI")
        for (const { path, fieldRef } of mappingsOf(options["items"]))
          values[String(path)] = podField(this.#pod, String(fieldsOf(fieldRef)["fieldPath"]), this.#place);
      else if (kind === "secret" || kind === "configMap") Object.assign(values, this.#keysOf(kind, options));
      else throw new Error(`Cannot mount a volume of the kind ${kind}`);
    }
    return values;
  }

  #keysOf(kind: keyof ReferencedData, { secretName, name = secretName, items, optional }: Mapping): Env {
    const { namespace } = fieldsOf(this.#pod["metadata"]);
    const data = this.#sources.data[kind](`${String(namespace)}/${String(name)}`);
    const chosen = mappingsOf(items).map(({ key, path }) => [String(path), data?.[String(key)]] as const);
    const missing = data === undefined || chosen.some(([, value]) => value === undefined);
    if (missing && optional !== true)
      throw new Error(`Cannot mount ${kind} ${String(name)}: it or one of its keys is missing`);
    if (items === undefined) return data ?? {};
    return Object.fromEntries(chosen.flatMap(([path, value]) => (value === undefined ? [] : [[path, value]])));
  }

  async #token({ path, audience, expirationSeconds = 3600 }: Mapping): Promise<string> {
    const known = this.#tokens.get(String(path));
    if (known !== undefined && Date.now() < known.renewalMs) return known.text;
    const { namespace, name, uid } = fieldsOf(this.#pod["metadata"]);
    const account = textOf(fieldsOf(this.#pod["spec"])["serviceAccountName"]) ?? "default";
    const { status, body } = await this.#sources.api.send(
      "POST",
      `/api/v1/namespaces/${String(namespace)}/serviceaccounts/${account}/token`,
      {
        apiVersion: "authentication.k8s.io/v1",
        kind: "TokenRequest",
        spec: {
          ...(audience !== undefined && { audiences: [audience] }),
          expirationSeconds,
          boundObjectRef: { apiVersion: "v1", kind: "Pod", name, uid },
        },
      },
    );
    if (status !== 201) throw new Error(`Cannot get a token for ${account}: ${String(body["message"])}`);
    const text = String(fieldsOf(body["status"])["token"]);
    this.#tokens.set(String(path), { text, renewalMs: Date.now() + Number(expirationSeconds) * 1000 * TOKEN_RENEWAL });
    return text;
  }
}

/** What the files of a volume are made of; undefined for a folder that the pod writes. */
function projections(volume: Mapping): readonly Mapping[] | undefined {
  const { projected, secret, configMap, downwardAPI, emptyDir, persistentVolumeClaim } = volume;
  if (projected !== undefined) return mappingsOf(fieldsOf(projected)["sources"]);
  if (secret !== undefined) return [{ secret }];
  if (configMap !== undefined) return [{ configMap }];
  if (downwardAPI !== undefined) return [{ downwardAPI }];
  if (emptyDir !== undefined || persistentVolumeClaim !== undefined) return undefined;
  throw new Error(`Cannot mount the volume ${String(volume["name"])}: of a kind that is not implemented`);
}
