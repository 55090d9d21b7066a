// What one TypeScript file imports: from where, which names, and whether only types. The gates on
// exports and on dependencies both ask this.
import ts from "typescript";
import { lineOf, parseSource, walk } from "./syntax.ts";

/** One import of a file, whatever its form. */
export interface ImportedNames {
  /** As written: `./x.ts`, `@weir/common/log/log`, `zod`, `node:fs`. */
  readonly specifier: string;
  /** Line from 1. */
  readonly line: number;
  /**
   * Names taken; "all" when it cannot be told (`import * as`, a dynamic import that is passed on).
   */
  readonly names: readonly string[] | "all";
  /** Whether nothing of it is left when types are stripped. */
  readonly typeOnly: boolean;
}

/** Every import of the file: static, dynamic, re-export, type query and `import("x").Y` type. */
export function importsOf(path: string, text: string): readonly ImportedNames[] {
  const source = parseSource(path, text);
  const found: ImportedNames[] = [];
  walk(source, (node) => {
    const imported = staticImport(node) ?? dynamicImport(node) ?? typeImport(node);
    if (imported !== undefined) found.push({ ...imported, line: lineOf(source, node) });
  });
  return found;
}

type Unplaced = Omit<ImportedNames, "line">;

function staticImport(node: ts.Node): Unplaced | undefined {
  if (ts.isImportDeclaration(node) && ts.isStringLiteral(node.moduleSpecifier)) {
    const clause = node.importClause;
    const specifier = node.moduleSpecifier.text;
    if (clause === undefined) return { specifier, names: [], typeOnly: false };
    const typeOnly = clause.phaseModifier === ts.SyntaxKind.TypeKeyword;
    const names = clause.name === undefined ? [] : ["default"];
    if (clause.namedBindings === undefined) return { specifier, names, typeOnly };
    if (ts.isNamespaceImport(clause.namedBindings)) return { specifier, names: "all", typeOnly };
    return { specifier, names: [...names, ...clause.namedBindings.elements.map(sourceName)], typeOnly };
  }
  if (ts.isExportDeclaration(node) && node.moduleSpecifier !== undefined && ts.isStringLiteral(node.moduleSpecifier)) {
    const clause = node.exportClause;
    const names =
      clause !== undefined && ts.isNamedExports(clause) ? clause.elements.map(sourceName) : ("all" as const);
    return { specifier: node.moduleSpecifier.text, names, typeOnly: node.isTypeOnly };
  }
  return undefined;
}

/**
 * `const { a, b } = await import("x")` and `(await import("x")).a` take those names; any other use
 * takes all.
 */
function dynamicImport(node: ts.Node): Unplaced | undefined {
  if (!ts.isCallExpression(node) || node.expression.kind !== ts.SyntaxKind.ImportKeyword) return undefined;
  const [argument] = node.arguments;
  if (argument === undefined || !ts.isStringLiteralLike(argument)) return undefined;
  let user: ts.Node = node.parent;
  while (ts.isAwaitExpression(user) || ts.isParenthesizedExpression(user)) user = user.parent;
  const base = { specifier: argument.text, typeOnly: false };
  if (ts.isPropertyAccessExpression(user)) return { ...base, names: [user.name.text] };
  if (ts.isVariableDeclaration(user) && ts.isObjectBindingPattern(user.name)) {
    const names = user.name.elements.map((element) => (element.propertyName ?? element.name).getText());
    return { ...base, names };
  }
  return { ...base, names: "all" };
}

function typeImport(node: ts.Node): Unplaced | undefined {
  if (!ts.isImportTypeNode(node) || !ts.isLiteralTypeNode(node.argument) || !ts.isStringLiteral(node.argument.literal))
    return undefined;
  const names = node.qualifier === undefined ? ("all" as const) : [node.qualifier.getText().split(".", 1)[0] ?? ""];
  return { specifier: node.argument.literal.text, names, typeOnly: true };
}

function sourceName(specifier: ts.ImportSpecifier | ts.ExportSpecifier): string {
  return (specifier.propertyName ?? specifier.name).text;
}
