// Objects in memory with the law of server-side apply, as far as one field manager needs it: versions,
// conflicts, data that is left out is removed.
import { ApiFailure } from "@weir/kubernetes/client/api-failure";
import { type ApiKind, resourceOf } from "@weir/kubernetes/client/api-resource";
import type { ApplyOptions, ObjectName, WrittenObject } from "@weir/kubernetes/client/object-client";
import { type KubernetesObject, readObject } from "@weir/kubernetes/client/kubernetes-object";

type Content = WrittenObject & {
  readonly metadata: { readonly managedFields?: readonly Writer[] };
  readonly data?: Readonly<Record<string, string>>;
};

/** An entry of `metadata.managedFields`. */
interface Writer {
  readonly manager: string;
  readonly operation: string;
  readonly time: string;
  readonly fieldsV1: object;
}

/** The objects. */
export class FakeObjects {
  /** Every write, as `namespace/name`. */
  readonly writes: string[] = [];
  /** Throws what a request for this object fails with; for a list the name is empty. */
  fail: (name: string, namespace?: string) => void = () => undefined;
  readonly #objects = new Map<string, Content>();
  readonly #clock: () => number;
  #version = 0;

  /** `clock` is that of the API server, in milliseconds since the epoch. */
  constructor(clock: () => number) {
    this.#clock = clock;
  }

  /** Puts an object there as another writer does. */
  put(kind: ApiKind, object: Content): void {
    this.#version += 1;
    const metadata = { uid: `uid-${this.#version}`, ...object.metadata, resourceVersion: String(this.#version) };
    this.#objects.set(textOf(kind, object.metadata), { ...object, metadata });
  }

  /** The data of a Secret, decoded; undefined when there is none. */
  dataOf(kind: ApiKind, name: ObjectName): Record<string, string> | undefined {
    const data = this.#objects.get(textOf(kind, name))?.data;
    return (
      data &&
      Object.fromEntries(Object.entries(data).map(([key, value]) => [key, Buffer.from(value, "base64").toString()]))
    );
  }

  /** Changes the data of a Secret as another writer does. */
  edit(kind: ApiKind, name: ObjectName, edit: (data: Record<string, string>) => Record<string, string>): void {
    const object = this.#objects.get(textOf(kind, name));
    if (object === undefined) throw new Error(`There is no ${name.name}`);
    const edited = Object.entries(edit(this.dataOf(kind, name) ?? {}));
    const data = Object.fromEntries(edited.map(([key, value]) => [key, Buffer.from(value).toString("base64")]));
    const time = new Date(this.#clock()).toISOString();
    const editor = { manager: "kubectl-edit", operation: "Update", time, fieldsV1: {} };
    const managedFields = [...othersThan(editor.manager, object), editor];
    this.put(kind, { ...object, data, metadata: { ...object.metadata, managedFields } });
  }

  remove(kind: ApiKind, name: ObjectName): void {
    this.#objects.delete(textOf(kind, name));
  }

  async get(kind: ApiKind, name: ObjectName): Promise<KubernetesObject | undefined> {
    this.fail(name.name, name.namespace);
    const object = this.#objects.get(textOf(kind, name));
    return await Promise.resolve(object && readObject(object));
  }

  async list(kind: ApiKind, namespace: string): Promise<readonly KubernetesObject[]> {
    this.fail("", namespace);
    const found = [...this.#objects].filter(([name]) => name.startsWith(textOf(kind, { namespace, name: "" })));
    return await Promise.resolve(found.flatMap(([, object]) => readObject(object) ?? []));
  }

  async update(kind: ApiKind, object: WrittenObject): Promise<KubernetesObject> {
    return await this.apply(kind, object, { fieldManager: "update", isForced: true });
  }

  async apply(kind: ApiKind, object: WrittenObject, options: ApplyOptions): Promise<KubernetesObject> {
    const { metadata, data = {}, ...rest } = object as Content;
    this.fail(metadata.name, metadata.namespace);
    const name = textOf(kind, metadata);
    const before = this.#objects.get(name);
    const isOther =
      metadata.resourceVersion !== undefined && metadata.resourceVersion !== before?.metadata.resourceVersion;
    if (isOther || (before !== undefined && options.isForced !== true))
      throw new ApiFailure("conflict", { verb: "patch", resource: resourceOf(kind, metadata.namespace) }, "conflict");
    const own = Object.keys(data).map((key) => [`f:${key}`, {}] as const);
    const time = new Date(this.#clock()).toISOString();
    const managedFields = [
      ...othersThan(options.fieldManager, before),
      { manager: options.fieldManager, operation: "Apply", time, fieldsV1: { "f:data": Object.fromEntries(own) } },
    ];
    this.put(kind, { ...before, ...rest, data, metadata: { ...before?.metadata, ...metadata, managedFields } });
    this.writes.push(name.slice(name.indexOf(" ") + 1));
    return readObject(this.#objects.get(name))!;
  }
}

/** The entries of the other managers in `metadata.managedFields`. */
function othersThan(manager: string, object: Content | undefined): readonly Writer[] {
  return (object?.metadata.managedFields ?? []).filter((each) => each.manager !== manager);
}

function textOf({ plural }: ApiKind, { namespace = "", name }: ObjectName): string {
  return `${plural} ${namespace}/${name}`;
}
