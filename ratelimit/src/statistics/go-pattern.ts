// Regular expressions in Go's syntax, for settings that the reference reads with Go. They become
// JavaScript's; what the two write alike but mean differently is translated, what Go refuses is
// refused. Matching here goes back over what it tried, which Go's does not: nested repetitions such
// as `(a+)+` take very long on names that almost match.

/** Classes of ASCII characters inside brackets. */
const POSIX_CLASSES: Readonly<Record<string, string>> = {
  alnum: "0-9A-Za-z",
  alpha: "A-Za-z",
  ascii: "\\x00-\\x7F",
  blank: "\\t ",
  cntrl: "\\x00-\\x1F\\x7F",
  digit: "0-9",
  graph: "!-~",
  lower: "a-z",
  print: " -~",
  punct: "!-\\/:-@\\[-`\\{-~",
  space: "\\t\\n\\v\\f\\r ",
  upper: "A-Z",
  word: "0-9A-Za-z_",
  xdigit: "0-9A-Fa-f",
};

/** Most characters of a pattern: room for any real one. */
const PATTERN_MAX_LENGTH = 4096;

/** Highest count of a repetition that Go takes. */
const REPEAT_MAX = 1000;

/** A compiled pattern, or why it is none. */
export type CompiledPattern =
  { readonly ok: true; readonly pattern: RegExp } | { readonly ok: false; readonly reason: string };

/** Compiles a pattern that is looked for anywhere in a text. */
export function compileGoPattern(source: string): CompiledPattern {
  if (source.length > PATTERN_MAX_LENGTH)
    return { ok: false, reason: `it is longer than ${PATTERN_MAX_LENGTH} characters` };
  try {
    const [, flags = "", rest = source] = /^\(\?([ims]+)\)(.*)$/s.exec(source) ?? [];
    return {
      ok: true,
      pattern: new RegExp(new Translation(rest, flags.includes("s")).translate(), `u${uniqueFlags(flags)}`),
    };
  } catch (error) {
    // The one thing that compiling throws; anything else is a fault of ours.
    if (!(error instanceof SyntaxError)) throw error;
    return { ok: false, reason: error.message };
  }
}

function uniqueFlags(flags: string): string {
  return [...new Set(flags)].join("");
}

class Translation {
  readonly #source: string;
  readonly #dotIsAll: boolean;
  #at = 0;
  #result = "";

  constructor(source: string, dotIsAll: boolean) {
    this.#source = source;
    this.#dotIsAll = dotIsAll;
  }

  translate(): string {
    while (this.#at < this.#source.length) this.#translateOne();
    return this.#result;
  }

  #translateOne(): void {
    const rest = this.#source.slice(this.#at);
    const repeat = /^\{(\d+)(?:,(\d*))?\}/.exec(rest);
    if (rest.startsWith("\\Q")) this.#quote(rest);
    else if (rest.startsWith("\\")) this.#escape(rest, false);
    else if (rest.startsWith("[")) this.#class(rest);
    else if (rest.startsWith("(?")) this.#group(rest);
    else if (repeat !== null) this.#repeat(repeat);
    else if (/^[\]{}]/.test(rest)) this.#take(1, `\\${rest.charAt(0)}`);
    else if (rest.startsWith(".")) this.#take(1, this.#dotIsAll ? "." : "[^\\n]");
    else {
      const character = String.fromCodePoint(rest.codePointAt(0) ?? 0);
      this.#take(character.length, character);
    }
  }

  #take(length: number, replacement: string): void {
    this.#at += length;
    this.#result += replacement;
  }

  #quote(rest: string): void {
    const end = rest.indexOf("\\E");
    const text = rest.slice(2, end === -1 ? undefined : end);
    this.#take(end === -1 ? rest.length : end + 2, text.replaceAll(/[\^$\\.*+?()[\]{}|/]/g, "\\$&"));
  }

  #repeat([text, low = "", high = ""]: RegExpExecArray): void {
    if (Number(low) > REPEAT_MAX || Number(high) > REPEAT_MAX) throw new SyntaxError(`invalid repeat count: ${text}`);
    this.#take(text.length, text);
  }

  #group(rest: string): void {
    const named = /^\(\?P?</.exec(rest)?.[0];
    if (/^\(\?(?:=|!|<=|<!)/.test(rest))
      throw new SyntaxError(`invalid or unsupported syntax: ${rest.slice(0, 4)} looks around`);
    if (/^\(\?[a-z]*s[a-z]*:/.test(rest))
      throw new SyntaxError("the flag s is understood at the beginning of the pattern only");
    if (named !== undefined) this.#take(named.length, "(?<");
    else this.#take(2, "(?");
  }

  #escape(rest: string, isInClass: boolean): void {
    const next = rest.charAt(1);
    const codePoint = /^\\x\{([0-9A-Fa-f]+)\}/.exec(rest);
    const property = /^\\[pP](?:([A-Z])|\{(\w+)\})/.exec(rest);
    if (codePoint !== null) this.#take(codePoint[0].length, `\\u{${codePoint[1] ?? ""}}`);
    else if (property !== null)
      this.#take(property[0].length, `\\${next}{${propertyName(property[1] ?? property[2] ?? "")}}`);
    else if (/[0-9kcuC]/.test(next)) throw new SyntaxError(`invalid escape sequence: \\${next}`);
    else if (next === "A" && !isInClass) this.#take(2, "(?<![^])");
    else if (next === "z" && !isInClass) this.#take(2, "(?![^])");
    else if (next === "a") this.#take(2, "\\x07");
    else if (next === "s") this.#take(2, isInClass ? "\\t\\n\\f\\r " : "[\\t\\n\\f\\r ]");
    else if (next === "S" && !isInClass) this.#take(2, "[^\\t\\n\\f\\r ]");
    // Go lets any punctuation be escaped, JavaScript only what has a meaning.
    else if (/[!-/:-@[-`{-~]/.test(next)) this.#take(2, `\\x${next.charCodeAt(0).toString(16)}`);
    else this.#take(2, `\\${next}`);
  }

  #class(rest: string): void {
    const opening = /^\[\^?/.exec(rest)?.[0] ?? "[";
    this.#take(opening.length, opening);
    // A bracket that closes at once is a character.
    if (this.#source.startsWith("]", this.#at)) this.#take(1, "\\]");
    for (;;) {
      const inside = this.#source.slice(this.#at);
      const posix = /^\[:(\^?)(\w+):\]/.exec(inside);
      if (inside === "") throw new SyntaxError(`missing closing ]: ${rest}`);
      if (inside.startsWith("]")) break;
      if (posix !== null) this.#take(posix[0].length, posixClass(posix));
      else if (inside.startsWith("\\")) this.#escape(inside, true);
      else this.#take(1, inside.startsWith("[") ? "\\[" : inside.charAt(0));
    }
    this.#take(1, "]");
  }
}

/** Go names scripts plainly, JavaScript wants to be told that it is one. */
function propertyName(name: string): string {
  return name.length <= 2 ? name : `Script=${name}`;
}

function posixClass([text, isNegated, name = ""]: RegExpExecArray): string {
  const characters = POSIX_CLASSES[name];
  if (characters === undefined || isNegated === "^") throw new SyntaxError(`invalid character class range: ${text}`);
  return characters;
}
