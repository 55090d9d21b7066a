// Reads and writes objects: get, list, server-side apply, create, update, delete.
import { mappingOf } from "../mapping.ts";
import type { ApiCall, ApiClient } from "./api-client.ts";
import { ApiFailure, type ApiRequest } from "./api-failure.ts";
import { type ApiKind, type ApiResource, type ApiVerb, objectPath, requestPath, resourceOf } from "./api-resource.ts";
import { type KubernetesObject, readObject, readPage } from "./kubernetes-object.ts";

/** An object as it is sent: with `apiVersion`, `kind` and `metadata`. */
export interface WrittenObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    /** Absent for a cluster-scoped object. */
    readonly namespace?: string;
    /** A write of any other version fails with `conflict`. */
    readonly resourceVersion?: string;
    readonly [field: string]: unknown;
  };
  readonly [field: string]: unknown;
}

/** The namespace and the name of an object. */
export interface ObjectName {
  /** Absent or empty for a cluster-scoped object. */
  readonly namespace?: string;
  readonly name: string;
}

/** How an object is written. */
export interface WriteOptions {
  /** Such as `status`; absent for the object itself. */
  readonly subresource?: string;
  /** True if the server only checks the request. */
  readonly isDryRun?: boolean;
}

/** How an object is applied on the server's side. */
export interface ApplyOptions extends WriteOptions {
  /** The owner of the fields that are sent; fields that this manager applied before and leaves out now are removed. */
  readonly fieldManager: string;
  /** Takes fields from other managers; without it they are a `conflict`. */
  readonly isForced?: boolean;
}

/** Preconditions of a deletion, and the policy for objects that the deleted object owns. */
export interface DeleteOptions {
  /** Otherwise `conflict`. */
  readonly uid?: string;
  /** Otherwise `conflict`. */
  readonly resourceVersion?: string;
  readonly propagationPolicy?: "Background" | "Foreground" | "Orphan";
}

/** The writes of {@link ObjectClient}. */
export type ObjectWriter = Pick<ObjectClient, "apply" | "create" | "update" | "delete">;

/**
 * Single objects of one API server. Every request fails with ApiFailure and nothing else; each method
 * says which kinds it turns into an answer.
 */
export class ObjectClient {
  readonly #client: Pick<ApiClient, "send">;

  constructor(client: Pick<ApiClient, "send">) {
    this.#client = client;
  }

  /** The object; undefined when there is none. Fails with `refused` when the kind is not installed. */
  async get(
    kind: ApiKind,
    { namespace, name }: ObjectName,
    signal: AbortSignal,
  ): Promise<KubernetesObject | undefined> {
    const resource = singleResource(kind, namespace, name);
    const call = { method: "GET", path: objectPath(resourceOf(kind, resource.namespace), name) } as const;
    return await orUndefined("absent", this.#exchange({ verb: "get", resource }, call, signal));
  }

  /** The objects of a namespace, in one answer. Fails with `refused` when the kind is not installed. */
  async list(kind: ApiKind, namespace: string, signal: AbortSignal): Promise<readonly KubernetesObject[]> {
    const resource = resourceOf(kind, namespace);
    const request = { verb: "list", resource } as const;
    const page = readPage(await this.#client.send(request, { method: "GET", path: requestPath(resource, {}) }, signal));
    if (page === undefined) throw new ApiFailure("broken", request, "the answer is not a list of objects");
    return page.objects;
  }

  /** Creates the object, or takes over the fields that are sent (server-side apply). */
  async apply(
    kind: ApiKind,
    object: WrittenObject,
    { fieldManager, isForced = false, ...options }: ApplyOptions,
    signal: AbortSignal,
  ): Promise<KubernetesObject> {
    const { request, path } = writeOf("patch", kind, object, {
      ...parametersOf(options),
      fieldManager,
      force: isForced ? "true" : "",
      // Otherwise the server parses the body twice, to warn of fields that it drops, and the answer is not read.
      fieldValidation: "Ignore",
    });
    const body = JSON.stringify(object);
    return await this.#exchange(
      request,
      { method: "PATCH", path, body, contentType: "application/apply-patch+yaml" },
      signal,
    );
  }

  /** Creates the object; undefined when one of the name exists. */
  async create(
    kind: ApiKind,
    object: WrittenObject,
    options: WriteOptions,
    signal: AbortSignal,
  ): Promise<KubernetesObject | undefined> {
    const resource = resourceOf(kind, object.metadata.namespace);
    const path = requestPath(resource, { dryRun: options.isDryRun === true ? "All" : "" });
    const request = { verb: "create", resource } as const;
    const created = this.#exchange(request, { method: "POST", path, body: JSON.stringify(object) }, signal);
    return await orUndefined("conflict", created);
  }

  /** Replaces the object; with `metadata.resourceVersion` only that version of it. */
  async update(
    kind: ApiKind,
    object: WrittenObject,
    options: WriteOptions,
    signal: AbortSignal,
  ): Promise<KubernetesObject> {
    const { request, path } = writeOf("update", kind, object, parametersOf(options));
    return await this.#exchange(request, { method: "PUT", path, body: JSON.stringify(object) }, signal);
  }

  /** Deletes the object; false when there is none. */
  async delete(
    kind: ApiKind,
    { namespace, name }: ObjectName,
    { uid, resourceVersion, propagationPolicy = "Background" }: DeleteOptions,
    signal: AbortSignal,
  ): Promise<boolean> {
    const resource = singleResource(kind, namespace, name);
    const options = {
      apiVersion: "v1",
      kind: "DeleteOptions",
      propagationPolicy,
      preconditions: { uid, resourceVersion },
    };
    const path = objectPath(resourceOf(kind, resource.namespace), name);
    const request = { verb: "delete", resource } as const;
    const call = { method: "DELETE", path, body: JSON.stringify(options) } as const;
    const answer = await orUndefined("absent", this.#client.send(request, call, signal));
    return answer !== undefined;
  }

  async #exchange(request: ApiRequest, call: ApiCall, signal: AbortSignal): Promise<KubernetesObject> {
    const answer = await this.#client.send(request, call, signal);
    const metadata = mappingOf(mappingOf(answer)?.["metadata"]);
    // An object that was not stored, in a dry run, has no version.
    const object = readObject({ ...mappingOf(answer), metadata: { resourceVersion: "", ...metadata } });
    if (object !== undefined) return object;
    const kind = mappingOf(answer)?.["kind"];
    throw new ApiFailure(
      "broken",
      request,
      `the answer is not an object but ${typeof kind === "string" ? `of kind ${kind}` : "something else"}`,
    );
  }
}

function writeOf(
  verb: ApiVerb,
  kind: ApiKind,
  { metadata: { namespace, name } }: WrittenObject,
  parameters: Readonly<Record<string, string>>,
): { readonly request: ApiRequest; readonly path: string } {
  const resource = singleResource(kind, namespace, name);
  const path = objectPath(resourceOf(kind, resource.namespace), name, parameters);
  const { subresource = "" } = parameters;
  // As roles name it.
  const plural = subresource === "" ? kind.plural : `${kind.plural}/${subresource}`;
  return { request: { verb, resource: { ...resource, plural } }, path };
}

function parametersOf({ subresource = "", isDryRun = false }: WriteOptions): Readonly<Record<string, string>> {
  return { subresource, dryRun: isDryRun ? "All" : "" };
}

function singleResource(kind: ApiKind, namespace: string | undefined, name: string): ApiResource {
  return { ...resourceOf(kind, namespace === "" ? undefined : namespace), name };
}

async function orUndefined<T>(kind: ApiFailure["kind"], answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof ApiFailure && error.kind === kind) return undefined;
    throw error;
  }
}
