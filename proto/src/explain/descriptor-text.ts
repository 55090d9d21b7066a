// Descriptors as `weir explain` and the console take them: `key=value,key=value`. Pure.

/** An entry of a descriptor. */
export interface EntryText {
  readonly key: string;
  readonly value: string;
}

/**
 * The entries of `key=value,key=value`, where a backslash takes the special meaning from the character after it; a text
 * says what is wrong.
 */
export function parseDescriptor(text: string): readonly EntryText[] | string {
  const entries: EntryText[] = [];
  for (const part of splitAt(text, ",")) {
    const [key = "", ...values] = splitAt(part, "=");
    if (values.length === 0) return `an entry must be key=value, is ${JSON.stringify(part)} in ${JSON.stringify(text)}`;
    if (key === "") return `an entry must have a key, is ${JSON.stringify(part)} in ${JSON.stringify(text)}`;
    entries.push({ key: plain(key), value: plain(values.join("=")) });
  }
  return entries;
}

/** Splits at a character that no backslash precedes. */
function splitAt(text: string, separator: string): readonly string[] {
  const parts = [""];
  for (let index = 0; index < text.length; index += 1) {
    const character = text.charAt(index);
    if (character === separator) parts.push("");
    else {
      const pair = character === "\\" ? character + text.charAt((index += 1)) : character;
      parts.push((parts.pop() ?? "") + pair);
    }
  }
  return parts;
}

function plain(text: string): string {
  return text.replaceAll(/\\(.)/gs, "$1");
}
