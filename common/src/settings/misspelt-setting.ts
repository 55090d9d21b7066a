// Finds the setting that a variable of the environment was meant to be. Pure.
import { editDistance } from "../text/edit-distance.ts";

/**
 * Shortest names in which one typing error, and two of them, are recognized; shorter names are
 * alike by chance.
 */
const TYPO_LENGTH_MIN = 8;
const SECOND_TYPO_LENGTH_MIN = 14;

/**
 * The known setting from which `name` differs by underscores only, or by one typing error, in a long
 * name two; undefined when there is none. `known` does not have `name`.
 */
export function findMeantSetting(name: string, known: readonly string[]): string | undefined {
  return known.find((setting) => isTypo(name, setting));
}

function isTypo(name: string, setting: string): boolean {
  if (setting.length < TYPO_LENGTH_MIN || setting.includes("<")) return false;
  if (name.replaceAll("_", "") === setting.replaceAll("_", "")) return true;
  return editDistance(name, setting) <= (setting.length >= SECOND_TYPO_LENGTH_MIN ? 2 : 1);
}
