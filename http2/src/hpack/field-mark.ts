// The mark of a field: the facts that are known since its octets were received, as one number. Tables
// keep it with the entry, so that nothing is looked at twice.

const NAME_ID_MASK = 0x1f;

/** The classes of the value's octets (octet-class.ts), above the NameId. */
const CLASS_SHIFT = 8;
const CLASS_MASK = 3;

/** Set when the name is in a list's scratch, not in a table. */
export const NAME_IN_SCRATCH = 0x1000;
/** Set when the value is in a list's scratch, not in a table. */
export const VALUE_IN_SCRATCH = 0x2000;

/** A mark of a field that is in a table. */
export function markOf(nameId: number, valueClasses: number): number {
  return nameId | (valueClasses << CLASS_SHIFT);
}

/** The NameId in a mark. */
export function nameIdOf(mark: number): number {
  return mark & NAME_ID_MASK;
}

/** The classes in a mark. */
export function valueClassesOf(mark: number): number {
  return (mark >>> CLASS_SHIFT) & CLASS_MASK;
}
