// Small questions about the syntax of one TypeScript file, for the gates. Nothing here resolves
// types.
import ts from "typescript";

/** A named declaration that other files can import. */
export interface ExportedDeclaration {
  readonly name: string;
  readonly node: ts.Node;
  /** Line from 1. */
  readonly line: number;
  readonly isType: boolean;
}

/** The syntax tree of `text`, with parents. */
export function parseSource(path: string, text: string): ts.SourceFile {
  return ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
}

/** Line of `node`, from 1. */
export function lineOf(source: ts.SourceFile, node: ts.Node): number {
  return source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
}

/** Every name that `source` exports, with its declaration, in order. */
export function exportedDeclarations(source: ts.SourceFile): readonly ExportedDeclaration[] {
  const byName = new Map<string, { node: ts.Node; isType: boolean }>();
  const exported = new Set<string>();
  for (const statement of source.statements) {
    const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement);
    for (const { name, node } of declaredNames(statement)) {
      byName.set(name, { node, isType });
      if (hasExport(statement)) exported.add(name);
    }
    if (
      ts.isExportDeclaration(statement) &&
      statement.exportClause !== undefined &&
      ts.isNamedExports(statement.exportClause)
    ) {
      for (const element of statement.exportClause.elements) {
        exported.add(element.name.text);
        const local = byName.get((element.propertyName ?? element.name).text);
        byName.set(element.name.text, local ?? { node: element, isType: statement.isTypeOnly });
      }
    }
  }
  return [...exported].flatMap((name) => {
    const declaration = byName.get(name);
    return declaration === undefined ? [] : [{ name, line: lineOf(source, declaration.node), ...declaration }];
  });
}

/** Calls `visit` for `node` and everything below it. */
export function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => {
    walk(child, visit);
  });
}

function declaredNames(statement: ts.Statement): readonly { name: string; node: ts.Node }[] {
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.flatMap((declaration) =>
      boundNames(declaration.name).map((name) => ({ name, node: statement })),
    );
  }
  const isNamed =
    ts.isFunctionDeclaration(statement) ||
    ts.isClassDeclaration(statement) ||
    ts.isInterfaceDeclaration(statement) ||
    ts.isTypeAliasDeclaration(statement) ||
    ts.isEnumDeclaration(statement);
  return isNamed && statement.name !== undefined ? [{ name: statement.name.text, node: statement }] : [];
}

function boundNames(name: ts.BindingName): readonly string[] {
  if (ts.isIdentifier(name)) return [name.text];
  return name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : boundNames(element.name)));
}

function hasExport(statement: ts.Statement): boolean {
  return (
    ts.canHaveModifiers(statement) &&
    (ts.getModifiers(statement) ?? []).some((modifier) => modifier.kind === ts.SyntaxKind.ExportKeyword)
  );
}
