// Text for a terminal out of text that nobody has checked. Pure.

/**
 * The text without what could move the cursor or start a line of its own: names come from files and
 * pods.
 */
export function printable(text: string): string {
  return (
    text
      .replaceAll(/\s*\n\s*/g, " ")
      // eslint-disable-next-line no-control-regex -- Control characters are what is looked for.
      .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
        const code = character.charCodeAt(0).toString(16).padStart(4, "0");
        return `\\u${code}`;
      })
  );
}

/** A number and its noun, which gets an s unless there is one. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
