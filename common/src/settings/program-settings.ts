// Runs the function that reads the settings of a program: on the environment, or to list them.
import { type Env, EnvReader, type SettingRow } from "./read-env.ts";

/** The frozen settings that `read` finds in `env`; throws one SettingsError with all problems. */
export function settingsFrom<T extends object>(env: Env, read: (reader: EnvReader) => T): Readonly<T> {
  const reader = new EnvReader(env);
  const settings = read(reader);
  reader.done();
  return Object.freeze(settings);
}

/**
 * Every setting that `read` asks for, with its default and effect, for --help and the
 * documentation.
 */
export function settingRowsOf(read: (reader: EnvReader) => unknown): readonly SettingRow[] {
  const reader = new EnvReader({});
  read(reader);
  return reader.rows();
}

/** Every variable that the settings of these rows are read from. */
export function namesOfRows(rows: readonly SettingRow[]): readonly string[] {
  return rows.flatMap(({ names, type }) =>
    type.startsWith("secret") ? names.flatMap((name) => [name, `${name}_FILE`]) : names,
  );
}
