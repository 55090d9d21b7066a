// Reads the fields of a parsed YAML map one by one: wrong types and fields that nobody asked for
// become problems that name their place.

type Fields = Readonly<Record<string, unknown>>;

/** A map of a mapping file. */
export class FieldReader {
  readonly #fields: Fields;
  readonly #path: string;
  readonly #problems: string[];
  readonly #read = new Set<string>();

  private constructor(fields: Fields, path: string, problems: string[]) {
    this.#fields = fields;
    this.#path = path;
    this.#problems = problems;
  }

  /**
   * A reader of the value, if that is a map; else a problem. `path` is "" at the top and ends in a
   * dot below.
   */
  static open(value: unknown, path: string, problems: string[]): FieldReader | undefined {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return new FieldReader(value as Fields, path, problems);
    problems.push(`${path === "" ? "the file" : path.slice(0, -1)} must be a map`);
    return undefined;
  }

  /** Notes a problem of a field. */
  problem(name: string, what: string): void {
    this.#problems.push(`${this.#path}${name} ${what}`);
  }

  /** The map in a field. */
  child(name: string): FieldReader | undefined {
    const value = this.#take(name);
    return value === undefined ? undefined : FieldReader.open(value, `${this.#path}${name}.`, this.#problems);
  }

  /** The maps in the list of a field. */
  children(name: string): readonly FieldReader[] {
    const value = this.#take(name);
    if (value === undefined) return [];
    if (!Array.isArray(value)) {
      this.problem(name, "must be a list");
      return [];
    }
    return value
      .map((item, index) => FieldReader.open(item, `${this.#path}${name}[${index}].`, this.#problems))
      .filter((reader) => reader !== undefined);
  }

  /** Whether there is such a field. */
  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name);
  }

  /** The yes or no of a field. */
  boolean(name: string): boolean | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === "boolean") return value;
    this.problem(name, `must be true or false, current value is ${JSON.stringify(value)}`);
    return undefined;
  }

  /** The text of a field. */
  text(name: string): string | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === "string") return value;
    this.problem(name, `must be a text, current value is ${JSON.stringify(value)}`);
    return undefined;
  }

  /** One of a few words. */
  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const found = choices.find((choice) => choice === value);
    if (found === undefined)
      this.problem(name, `must be one of ${choices.join(", ")}, current value is ${JSON.stringify(value)}`);
    return found;
  }

  /** A finite number. */
  number(name: string): number | undefined {
    const value = this.#take(name);
    if (value === undefined || (typeof value === "number" && Number.isFinite(value))) return value;
    this.problem(name, `must be a number, current value is ${JSON.stringify(value)}`);
    return undefined;
  }

  /** A list of finite numbers. */
  numbers(name: string): readonly number[] | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (Array.isArray(value) && value.every((item) => typeof item === "number" && Number.isFinite(item)))
      return value as number[];
    this.problem(name, `must be a list of numbers, current value is ${JSON.stringify(value)}`);
    return undefined;
  }

  /** A map of texts, in the order of the file. */
  texts(name: string): readonly (readonly [name: string, text: string])[] {
    const map = this.child(name);
    if (map === undefined) return [];
    const found = Object.keys(map.#fields).map((key) => [key, map.text(key) ?? ""] as const);
    map.done();
    return found;
  }

  /** Accepts fields without reading them. */
  ignore(names: readonly string[]): void {
    for (const name of names) this.#read.add(name);
  }

  /** Notes a problem for every field that nobody asked for. */
  done(): void {
    for (const name of Object.keys(this.#fields))
      if (!this.#read.has(name)) this.problem(name, "is not a field of a mapping");
  }

  /** The value of a field; null counts as absent. */
  #take(name: string): unknown {
    this.#read.add(name);
    return Object.hasOwn(this.#fields, name) ? (this.#fields[name] ?? undefined) : undefined;
  }
}
