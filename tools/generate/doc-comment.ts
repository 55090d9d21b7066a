// Reads the text of one doc comment, for pages that are made from the code.
import ts from "typescript";
import { exportedDeclarations, parseSource } from "../gates/syntax.ts";

/**
 * The text of the doc comment above the export `name`, on one line, `{@link X}` as `X`. Throws when
 * there is none: the page would have a hole.
 */
export function docCommentOf(path: string, text: string, name: string): string {
  const declaration = exportedDeclarations(parseSource(path, text)).find((candidate) => candidate.name === name);
  const comment =
    declaration === undefined
      ? undefined
      : ts.getJSDocCommentsAndTags(declaration.node).find((part) => ts.isJSDoc(part));
  const words = ts.getTextOfJSDocComment(comment?.comment)?.replaceAll(/\s+/g, " ").trim();
  if (words === undefined || words === "") throw new Error(`Cannot describe ${name} of ${path}: it has no doc comment`);
  return words.replaceAll(/\{@link (\w+)\}/g, "$1");
}
