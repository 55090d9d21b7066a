// Finds the tests that show a numbered case: by the word "case" or "cases" and numbers in the title
// of a test, of what encloses it, or in a row of its table. Reads syntax only; whether the tests
// pass, running them says.
import ts from "typescript";

/** One test that shows one case. */
export interface CaseTest {
  readonly number: number;
  readonly file: string;
  readonly line: number;
  /** The title, or the text of the row that has the number. */
  readonly name: string;
}

/** "case 7", "cases 7, 9 and 12", "cases 7 to 9", "cases 7-9". */
const CASES = /\bcases? (\d+(?:(?:, | and | to |-)\d+)*)/g;

/** Replaced in the title of a table by the property `case` of its rows. */
const CASE_OF_ROW = "$case";

/** The functions that take a title. */
const TITLED = new Set(["describe", "it", "test"]);

/**
 * Every test of `files` that names a case, in the order of files and lines. One whose title names
 * several cases is there for each.
 */
export function findCaseTests(files: ReadonlyMap<string, string>): readonly CaseTest[] {
  return [...files].flatMap(([file, text]) => {
    if (!/\bcases? \d/.test(text) && !text.includes(`case ${CASE_OF_ROW}`)) return [];
    const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
    const found: CaseTest[] = [];
    walk(source, (node) => {
      if (ts.isCallExpression(node))
        for (const { node: at, ...test } of testsOf(source, node))
          found.push({ ...test, file, line: source.getLineAndCharacterOfPosition(at.getStart(source)).line + 1 });
    });
    return withoutRepeats(found);
  });
}

/** The numbers that `text` names: "cases 7 to 9 and 12" names 7, 8, 9 and 12. */
export function casesNamedIn(text: string): readonly number[] {
  return [...text.matchAll(CASES)].flatMap(([, list = ""]) => {
    const numbers: number[] = [];
    for (const [, join = "", digits = ""] of list.matchAll(/(, | and | to |-|)(\d+)/g)) {
      const number = Number(digits);
      const from = numbers.at(-1);
      if (from !== undefined && (join === " to " || join === "-")) {
        for (let between = from + 1; between < number; between++) numbers.push(between);
      }
      numbers.push(number);
    }
    return numbers;
  });
}

type FoundTest = Pick<CaseTest, "number" | "name"> & { readonly node: ts.Node };

function testsOf(source: ts.SourceFile, call: ts.CallExpression): readonly FoundTest[] {
  const [title] = call.arguments;
  if (title === undefined || !TITLED.has(rootOf(call.expression))) return [];
  const name = textOf(title);
  if (name === undefined) return [];
  const rows = rowsOf(source, call.expression);
  const ofTitle = casesNamedIn(name).map((number) => ({ number, name, node: title }));
  const ofRows = rows.flatMap((row): readonly FoundTest[] => {
    if (name.includes(CASE_OF_ROW))
      return numberOf(row).map((number) => ({ number, name: filledIn(name, row), node: row }));
    const filled = filledIn(name, row);
    return textsIn(row).flatMap((text) =>
      casesNamedIn(text).map((number) => ({ number, name: filled.includes(text) ? filled : text, node: row })),
    );
  });
  return [...ofTitle, ...ofRows];
}

/**
 * The rows of the table in `it.each(table)(title)`, if it is written there or as a constant of the
 * same file.
 */
function rowsOf(source: ts.SourceFile, callee: ts.Expression): readonly ts.Expression[] {
  if (
    !ts.isCallExpression(callee) ||
    !ts.isPropertyAccessExpression(callee.expression) ||
    callee.expression.name.text !== "each"
  )
    return [];
  const [written] = callee.arguments;
  const table =
    written === undefined ? undefined : ts.isIdentifier(written) ? constantOf(source, written.text) : written;
  const array = table !== undefined && ts.isAsExpression(table) ? table.expression : table;
  return array !== undefined && ts.isArrayLiteralExpression(array) ? array.elements : [];
}

function constantOf(source: ts.SourceFile, name: string): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  walk(source, (node) => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.name.text === name)
      found = node.initializer;
  });
  return found;
}

/** `it` of `it.each(table)`, of `it.concurrent`, and of `it` itself. */
function rootOf(expression: ts.Expression): string {
  if (ts.isIdentifier(expression)) return expression.text;
  return ts.isPropertyAccessExpression(expression) || ts.isCallExpression(expression)
    ? rootOf(expression.expression)
    : "";
}

function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  return node.head.text + node.templateSpans.map((span) => `…${span.literal.text}`).join("");
}

function textsIn(row: ts.Node): readonly string[] {
  const texts: string[] = [];
  walk(row, (node) => {
    if (ts.isStringLiteralLike(node)) texts.push(node.text);
  });
  return texts;
}

function numberOf(row: ts.Expression): readonly number[] {
  const value = valueOf(row, "case");
  return value !== undefined && ts.isNumericLiteral(value) ? [Number(value.text)] : [];
}

/** `title` with what the row holds in the place of each `$name`, as the code writes it. */
function filledIn(title: string, row: ts.Expression): string {
  return title.replaceAll(/\$(\w+)/g, (placeholder, name: string) => {
    const value = valueOf(row, name);
    if (value === undefined) return placeholder;
    return textOf(value) ?? value.getText().replaceAll(/\s+/g, " ");
  });
}

function valueOf(row: ts.Expression, name: string): ts.Expression | undefined {
  if (!ts.isObjectLiteralExpression(row)) return undefined;
  for (const property of row.properties) {
    if (ts.isPropertyAssignment(property) && ts.isIdentifier(property.name) && property.name.text === name)
      return property.initializer;
  }
  return undefined;
}

/** Calls `visit` for `node` and everything below it. */
function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => {
    walk(child, visit);
  });
}

function withoutRepeats(tests: readonly CaseTest[]): readonly CaseTest[] {
  const seen = new Set<string>();
  return tests.filter(({ number, name }) => {
    const key = `${number} ${name}`;
    if (seen.has(key)) return false;
    seen.add(key);
    return true;
  });
}
