// HTML as a value: what is not HTML already is escaped, whoever forgets to think of it. It knows no
// page.

/** Text that is HTML already. Made by {@link markup} and {@link trusted} only. */
export class Markup {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** What may stand in a template; lists are written one after the other. */
export type Piece = string | number | Markup | readonly Markup[];

/** Nothing. */
export const NOTHING: Markup = new Markup("");

/** A template of HTML that escapes every text that is put into it. */
export function markup(strings: TemplateStringsArray, ...pieces: readonly Piece[]): Markup {
  return new Markup(strings.map((text, index) => text + renderPiece(pieces[index] ?? "")).join(""));
}

/** Text that is taken for HTML or CSS as it is; only for constants of this program. */
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
