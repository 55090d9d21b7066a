// HTML as a value: every text in a template is escaped unless it is HTML already.

/** Text that is HTML already. Only {@link markup} and {@link trusted} make it. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** A value in a template; lists are concatenated. */
export type Piece = string | number | Markup | readonly Markup[];

/** The empty text. */
export const NOTHING: Markup = new Markup("");

/** A template of HTML that escapes its values. */
export function markup(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(strings.map((text, index) => text + renderPiece(pieces[index] ?? "")).join(""));
}

/** Text that is HTML or CSS already; only for constants of this program. */
export function trusted(text: string): Markup {
  return new Markup(text);
}

function renderPiece(piece: Piece): string {
  if (piece instanceof Markup) return piece.text;
  if (typeof piece === "string") return escapeText(piece);
  return typeof piece === "number" ? String(piece) : piece.map(({ text }) => text).join("");
}

function escapeText(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}
