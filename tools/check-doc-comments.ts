// Gate: every exported declaration says in a doc comment what it is for, and so does every method
// of an exported interface. Whether the comment is any good is for the reader of the change.
import ts from "typescript";
import type { Finding } from "./findings.ts";
import { reportFindings } from "./findings.ts";
import { GENERATED_FILE, TEST_FILE } from "./layout.ts";
import type { Files } from "./source-tree.ts";
import { isTypeScript, readFiles } from "./source-tree.ts";
import { exportedDeclarations, lineOf, parseSource } from "./syntax.ts";

/** Methods that mean the same in every interface: common's `Part` says once what they promise. */
const KNOWN_METHODS = new Set(["start", "stop", "close"]);

/** Exported declarations and interface methods of `files` without a doc comment. */
export function findMissingDocComments(files: Files): readonly Finding[] {
  return [...files].flatMap(([file, text]) => {
    if (TEST_FILE.test(file) || GENERATED_FILE.test(file)) return [];
    const source = parseSource(file, text);
    return exportedDeclarations(source).flatMap(({ name, node, line }) => {
      const methods = ts.isInterfaceDeclaration(node)
        ? node.members.filter((member) => ts.isMethodSignature(member))
        : [];
      const bare = methods.filter(
        (method) => !hasDocComment(method) && !KNOWN_METHODS.has(method.name.getText(source)),
      );
      return [
        ...(hasDocComment(node)
          ? []
          : [{ file, line, rule: "doc-comment", message: `${name} is exported and needs a /** comment */ above it` }]),
        ...bare.map((method) => ({
          file,
          line: lineOf(source, method),
          rule: "doc-comment",
          message: `${name}.${method.name.getText(source)}() is part of an exported interface and needs a /** comment */ above it`,
        })),
      ];
    });
  });
}

/**
 * Whether the last thing before `node` is a doc comment with something in it. An overload may lean
 * on the comment of the first.
 */
function hasDocComment(node: ts.Node): boolean {
  return ts
    .getJSDocCommentsAndTags(node)
    .some((comment) => ts.isJSDoc(comment) && /[a-z]/i.test(comment.getText().replaceAll(/[/*\s]/g, "")));
}

if (import.meta.main) reportFindings(findMissingDocComments(readFiles(process.cwd(), isTypeScript)));
