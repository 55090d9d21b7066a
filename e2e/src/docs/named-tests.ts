// Finds the tests that a page names as proof, as `account/src/users/refresh.test.ts`: "title of the test".

/** A test file in backticks, and the title after it. */
const NAMED_TEST = /`((?:[\w.-]+\/)+[\w.-]+\.(?:test|suite)\.ts)`(?:: "([^"]+)")?/g;

/** A test that a page names. */
export interface NamedTest {
  readonly file: string;
  /** Undefined when the page names the file alone. */
  readonly title: string | undefined;
}

/** The tests that the text of a page names. */
export function findNamedTests(text: string): readonly NamedTest[] {
  return [...text.matchAll(NAMED_TEST)].map(([, file, title]) => ({ file: file!, title }));
}

/** Why the repository does not have the test; `textOf` gives the text of a file, or undefined when it does not exist. */
export function problemOfNamedTest(
  { file, title }: NamedTest,
  textOf: (path: string) => string | undefined,
): string | undefined {
  const test = textOf(file);
  if (test === undefined) return `${file} does not exist`;
  return title === undefined || test.includes(`"${title}"`) ? undefined : `${file} has no test "${title}"`;
}
