// The values of the last head of a connection. Requests that differ in traces and other fields without a
// meaning here have the same: where all others come from the same places, they are not read again. With the last path,
// calls with trace headers take 4.0 µs, and 4.6 without (docs/benchmark-trials.md).
import type { FieldList } from "../hpack/field-list.ts";
import { nameIdOf, valueClassesOf } from "../hpack/field-mark.ts";
import { NameId } from "../hpack/field-name.ts";
import { NO_ORIGIN } from "../hpack/field-origin.ts";
import { ILLEGAL_IN_VALUE } from "../hpack/octet-class.ts";
import type { HeadValues } from "./request-head.ts";

/** Fields with a meaning that are remembered. */
const FIELDS_MAX = 16;

/** The last values, and where their fields come from. */
export class RecentValues {
  readonly #origins = new Int32Array(FIELDS_MAX);
  #count = 0;
  #values: HeadValues | undefined;

  /**
   * The values that were kept, if the list is sound and has the same: the same fields with a meaning
   * in the same order, and no pseudo-header after another field.
   */
  find(fields: FieldList): HeadValues | undefined {
    const { count, marks, origins } = fields;
    const expected = this.#origins;
    let found = 0;
    let isRegular = false;
    for (let index = 0; index < count; index++) {
      const mark = marks[index] ?? 0;
      const id = nameIdOf(mark);
      if (id === NameId.other) {
        if ((valueClassesOf(mark) & ILLEGAL_IN_VALUE) !== 0) return undefined;
        isRegular = true;
      } else {
        if (origins[index] !== expected[found]) return undefined;
        if (isRegular && id <= NameId.authority) return undefined; // Pseudo-headers have the low numbers.
        found++;
      }
    }
    return found === this.#count ? this.#values : undefined;
  }

  /** Keeps the values of a sound list, unless one of their fields has no origin. */
  keep(fields: FieldList, values: HeadValues): void {
    this.#values = undefined;
    this.#count = 0;
    for (let index = 0; index < fields.count; index++) {
      if (fields.nameId(index) === NameId.other) continue;
      const origin = fields.origins[index] ?? NO_ORIGIN;
      if (origin === NO_ORIGIN || this.#count === FIELDS_MAX) return;
      this.#origins[this.#count++] = origin;
    }
    this.#values = values;
  }
}
