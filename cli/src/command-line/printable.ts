// Makes unchecked text safe for a terminal. Pure.

/** The text on one line, control characters escaped: names come from files and pods. */
export function printable(text: string): string {
  return (
    text
      .replaceAll(/\s*\n\s*/g, " ")
      // eslint-disable-next-line no-control-regex -- Control characters are replaced here.
      .replaceAll(/[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, (character) => {
        const code = character.charCodeAt(0).toString(16).padStart(4, "0");
        return `\\u${code}`;
      })
  );
}

/** A number and its noun, which gets an s unless the number is 1. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}
