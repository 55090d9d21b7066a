// Reads the fields of a parsed YAML map one by one. Wrong types and unknown fields become problems
// that name their path.

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

  /** A reader of a map, or a problem. `path` is "" for the file and ends in a dot for a field. */
  static open(value: unknown, path: string, problems: string[]): FieldReader | undefined {
    if (typeof value === "object" && value !== null && !Array.isArray(value))
      return new FieldReader(value as Fields, path, problems);
    problems.push(`${path === "" ? "the file" : path.slice(0, -1)} must be a map`);
    return undefined;
  }

  /** Adds a problem of a field. */
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
    const value = this.#take(name) ?? [];
    if (!Array.isArray(value)) {
      this.problem(name, "must be a list");
      return [];
    }
    return value
      .map((item, index) => FieldReader.open(item, `${this.#path}${name}[${index}].`, this.#problems))
      .filter((reader) => reader !== undefined);
  }

  /** Returns true if the field exists. */
  has(name: string): boolean {
    return Object.hasOwn(this.#fields, name);
  }

  boolean(name: string): boolean | undefined {
    return this.#typed(name, "true or false", (value) => typeof value === "boolean");
  }

  text(name: string): string | undefined {
    return this.#typed(name, "a text", (value) => typeof value === "string");
  }

  oneOf<T extends string>(name: string, choices: readonly T[]): T | undefined {
    return this.#typed(name, `one of ${choices.join(", ")}`, (value): value is T =>
      choices.some((choice) => choice === value),
    );
  }

  /** A finite number. */
  number(name: string): number | undefined {
    return this.#typed(name, "a number", isFiniteNumber);
  }

  /** A list of finite numbers. */
  numbers(name: string): readonly number[] | undefined {
    return this.#typed(
      name,
      "a list of numbers",
      (value): value is number[] => Array.isArray(value) && value.every(isFiniteNumber),
    );
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

  /** Adds a problem for every field that was not read. */
  done(): void {
    for (const name of Object.keys(this.#fields))
      if (!this.#read.has(name)) this.problem(name, "is not a field of a mapping");
  }

  #typed<T>(name: string, what: string, isType: (value: unknown) => value is T): T | undefined {
    const value = this.#take(name);
    if (value === undefined || isType(value)) return value;
    this.problem(name, `must be ${what}, current value is ${JSON.stringify(value)}`);
    return undefined;
  }

  /** The value of a field; null counts as absent. */
  #take(name: string): unknown {
    this.#read.add(name);
    return this.has(name) ? (this.#fields[name] ?? undefined) : undefined;
  }
}

function isFiniteNumber(value: unknown): value is number {
  return Number.isFinite(value);
}
