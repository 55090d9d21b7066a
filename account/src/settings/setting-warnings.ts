// Finds variables of the environment that have no effect: misspelt settings, and settings of a store that
// is not chosen. They are logged at the start. Pure.
import { findMeantSetting } from "@weir/common/settings/misspelt-setting";
import { namesOfRows } from "@weir/common/settings/program-settings";
import type { Env, SettingRow } from "@weir/common/settings/read-env";
import { isServiceLinkName } from "@weir/common/settings/service-links";

/** A variable without effect, and the reason. */
export interface SettingWithoutEffect {
  readonly name: string;
  readonly reason: string;
}

/** Which store and media are chosen, and whether there is mail, as STORE, MEDIA and MAIL say it. */
export interface ChosenStorage {
  readonly store: string;
  readonly media: string;
  readonly mail: string;
}

/** Settings that one choice alone reads. */
const OWNED: readonly {
  readonly settings: RegExp;
  readonly chosenBy: keyof ChosenStorage;
  readonly choice: string;
}[] = [
  { settings: /^MONGODB_/, chosenBy: "store", choice: "mongo" },
  { settings: /^S3_/, chosenBy: "media", choice: "s3" },
  { settings: /^(?:SMTP_|MAIL_FROM$)/, chosenBy: "mail", choice: "smtp" },
];

/**
 * The variables of `env` without effect, sorted by name, without their values, which may be secrets.
 * `rows` are the known settings.
 */
export function findSettingWarnings(
  env: Env,
  rows: readonly SettingRow[],
  storage: ChosenStorage,
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

function reasonOf({ chosenBy, choice }: (typeof OWNED)[number], storage: ChosenStorage): string {
  const setting = chosenBy.toUpperCase();
  return `it belongs to ${setting}=${choice}, and ${setting} is ${storage[chosenBy]}`;
}
