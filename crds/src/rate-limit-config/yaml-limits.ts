// What only a mistake or an attack has too much of, found by the lexer alone: the parser would take
// minutes over it.
import { Lexer } from "yaml";

/** Deepest nesting of lists and mappings. */
export const DEPTH_MAX = 100;

/** Most documents of one text. */
const DOCUMENTS_MAX = 10_000;

/** What the lexer puts before the text of a scalar. */
const SCALAR_MARK = "\u001f";

/** The first place of a text at which there is too much, and of what. */
export function findTooMuch(text: string): { readonly offset: number; readonly message: string } | undefined {
  let offset = 0;
  let depth = 0;
  let documents = 1;
  let isScalar = false;
  for (const token of new Lexer().lex(text)) {
    if (token === SCALAR_MARK && !isScalar) {
      isScalar = true;
      continue;
    }
    if (!isScalar) {
      if (token === "[" || token === "{") depth += 1;
      else if (token === "]" || token === "}") depth -= 1;
      else if (token === "---") documents += 1;
      if (depth > DEPTH_MAX) return { offset, message: `lists and mappings nest deeper than ${DEPTH_MAX} levels` };
      if (documents > DOCUMENTS_MAX) return { offset, message: `the text holds more than ${DOCUMENTS_MAX} documents` };
    }
    isScalar = false;
    // The other marks of the lexer have no width in the text.
    if (token !== "\u0002" && token !== "\u0018") offset += token.length;
  }
  return undefined;
}
