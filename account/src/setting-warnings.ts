// Finds variables of the environment that have no effect: misspelt settings, and settings of a store that
// is not chosen. They are logged at the start. Pure.
import { findMeantSetting } from "@weir/common/settings/misspelt-setting";
import { type Env, namesOfRows, type SettingRow } from "@weir/common/settings/read-env";
import { isServiceLinkName } from "@weir/common/settings/service-links";
import type { StorageSettings } from "./settings.ts";

/** A variable without effect, and the reason. */
export interface SettingWithoutEffect {
  readonly name: string;
  readonly reason: string;
}

/** Settings that one choice of STORE or MEDIA alone reads. */
const OWNED: readonly {
  readonly settings: RegExp;
  readonly chosenBy: keyof StorageSettings;
  readonly choice: string;
}[] = [
  { settings: /^MONGODB_/, chosenBy: "store", choice: "mongo" },
  { settings: /^S3_/, chosenBy: "media", choice: "s3" },
];

/**
 * The variables of `env` without effect, sorted by name, without their values, which may be secrets.
 * `rows` are the known settings.
 */
export function findSettingWarnings(
  env: Env,
  rows: readonly SettingRow[],
  storage: StorageSettings,
): readonly SettingWithoutEffect[] {
  const known = namesOfRows(rows);
  const names = Object.keys(env).filter((name) => (env[name] ?? "") !== "" && !isServiceLinkName(name));
  return names.toSorted().flatMap((name) => {
    const owner = OWNED.find(({ settings }) => settings.test(name));
    if (owner !== undefined && storage[owner.chosenBy] !== owner.choice)
      return [{ name, reason: reasonOf(owner, storage) }];
    const meant = known.includes(name) ? undefined : findMeantSetting(name, known);
    return meant === undefined ? [] : [{ name, reason: `unknown setting; is ${meant} meant?` }];
  });
}

function reasonOf({ chosenBy, choice }: (typeof OWNED)[number], storage: StorageSettings): string {
  const setting = chosenBy.toUpperCase();
  return `it belongs to ${setting}=${choice}, and ${setting} is ${storage[chosenBy]}`;
}
