// The immutable configuration of a pod: sorted forms, and a hash of their digests as the version.
// Equal content has the same version on every replica and after a restart.
import { digestOf, type Form } from "./form.ts";
import { encodeHead } from "./response-bytes.ts";

/** What pods are sent of resources instead of the published forms; undefined: nothing. */
export type Substitutes = ReadonlyMap<string, Form | undefined>;

const NO_SUBSTITUTES: Substitutes = new Map();

/** The configuration for the pods of a fleet, or for pods that NACKed a part of it. */
export class Snapshot {
  readonly version: string;
  /** Sorted by name. */
  readonly forms: readonly Form[];
  /** Version, type and forms, serialised. */
  readonly sizeBytes: number;
  /** What is sent instead of the forms of the fleet's snapshot, by name; empty for that itself. */
  readonly substitutes: Substitutes;
  readonly #head: Buffer;
  /** The fleet's snapshot, whose bytes are sent where the forms are equal. */
  readonly #base: Snapshot | undefined;
  #byName: ReadonlyMap<string, Form> | undefined;
  #body: WeakRef<Buffer> | undefined;

  /** `forms` must be sorted by name. */
  constructor(forms: readonly Form[], derivedFrom?: { readonly base: Snapshot; readonly substitutes: Substitutes }) {
    this.forms = forms;
    this.substitutes = derivedFrom?.substitutes ?? NO_SUBSTITUTES;
    this.#base = derivedFrom?.base;
    // A hash of digests, which exist per form: hashing megabytes per fleet would take seconds.
    this.version = digestOf(forms.map(({ digest }) => digest).join("\n"));
    this.#head = encodeHead(this.version);
    this.sizeBytes = forms.reduce((sum, { bytes }) => sum + bytes.length, this.#head.length);
  }

  /** The snapshot with substitutes of the same resources. */
  withSubstitutes(substitutes: Substitutes): Snapshot {
    const forms = this.forms.flatMap((form) =>
      substitutes.has(form.name) ? (substitutes.get(form.name) ?? []) : form,
    );
    return new Snapshot(forms, { base: this, substitutes });
  }

  /** The form of a resource; undefined: the snapshot lacks it. */
  get(name: string): Form | undefined {
    if (this.#base !== undefined) return this.substitutes.has(name) ? this.substitutes.get(name) : this.#base.get(name);
    // Made when first needed: there may be hundreds of fleets.
    this.#byName ??= new Map(this.forms.map((form) => [form.name, form]));
    return this.#byName.get(name);
  }

  /**
   * The response without the fields of one stream, in pieces that streams share; with `names` only
   * these resources. Must not be changed.
   */
  pieces(names?: ReadonlySet<string>): readonly Buffer[] {
    if (names !== undefined)
      return [this.#head, ...this.forms.filter(({ name }) => names.has(name)).map(({ bytes }) => bytes)];
    return [this.#head, ...(this.#base === undefined ? [this.#joined()] : this.#piecesOf(this.#base))];
  }

  /**
   * All forms in one buffer: thousands of small writes per stream would cost more than a copy for all
   * of them. Memory that no write needs may be freed.
   */
  #joined(): Buffer {
    const known = this.#body?.deref();
    if (known !== undefined) return known;
    const body = Buffer.concat(this.forms.map(({ bytes }) => bytes));
    this.#body = new WeakRef(body);
    return body;
  }

  /** The runs of the base's buffer between substitutes. */
  #piecesOf(base: Snapshot): readonly Buffer[] {
    const body = base.#joined();
    const pieces: Buffer[] = [];
    let [start, end] = [0, 0];
    for (const { name, bytes } of base.forms) {
      end += bytes.length;
      if (!this.substitutes.has(name)) continue;
      pieces.push(body.subarray(start, end - bytes.length), this.substitutes.get(name)?.bytes ?? Buffer.alloc(0));
      start = end;
    }
    return [...pieces, body.subarray(start, end)].filter(({ length }) => length > 0);
  }
}

/** One snapshot for each fleet that a resource names, and one for all others. */
export interface SnapshotSet {
  readonly byFleet: ReadonlyMap<string, Snapshot>;
  readonly others: Snapshot;
}

/** A form, and the fleets whose pods are sent it; undefined: every fleet. */
export interface PlacedForm {
  readonly form: Form;
  readonly fleets: readonly string[] | undefined;
}

/**
 * Builds the snapshots of these forms, which are sorted by name, in short steps: hundreds of fleets
 * with thousands of resources each take a while. A fleet without a change keeps its snapshot.
 */
export function* snapshotSteps(
  placed: Iterable<PlacedForm>,
  fleets: readonly string[],
  before?: SnapshotSet,
): Generator<undefined, SnapshotSet> {
  const forAll: Form[] = [];
  const lists = new Map<string, Form[]>(fleets.map((fleet) => [fleet, []]));
  for (const { form, fleets: own } of placed) {
    if (own === undefined) forAll.push(form);
    for (const list of own === undefined ? lists.values() : own.flatMap((fleet) => [lists.get(fleet) ?? []]))
      list.push(form);
  }
  yield;
  const build = (known: Snapshot | undefined, list: readonly Form[]): Snapshot =>
    known !== undefined && areSame(known.forms, list) ? known : new Snapshot(list);
  const byFleet = new Map<string, Snapshot>();
  for (const [fleet, list] of lists) {
    byFleet.set(fleet, build(before?.byFleet.get(fleet), list));
    yield;
  }
  return { byFleet, others: build(before?.others, forAll) };
}

function areSame(left: readonly Form[], right: readonly Form[]): boolean {
  return left.length === right.length && left.every((form, index) => form === right[index]);
}
