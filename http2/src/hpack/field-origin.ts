// Numbers for where a field was received: equal numbers on one connection mean an equal field.
import { STATIC_COUNT } from "./static-table.ts";

/** The origin of a literal that is no entry of the table: its field is not known to equal another. */
export const NO_ORIGIN = 0;

/** The origin of an entry of the static table. */
export function originOfStatic(index: number): number {
  return -index;
}

/** The origin of a :path with this serial number of RecentPath. */
export function originOfPath(serial: number): number {
  return serial === 0 ? NO_ORIGIN : -STATIC_COUNT - serial;
}
