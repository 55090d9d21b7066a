// Test equipment: decodes commands as a server would, and shows them as a person would type them.

/** The commands in RESP, each as its name in capital letters and its arguments. */
export function commandLines(bytes: Buffer): string[] {
  const lines: string[] = [];
  let at = 0;
  const number = (prefix: string): number => {
    const end = bytes.indexOf("\r\n", at);
    const line = bytes.toString("utf8", at, end);
    if (new RegExp(`^\\${prefix}\\d+$`).exec(line) === null)
      throw new Error(`Expected ${prefix} and a number, not '${line}'`);
    at = end + 2;
    return Number(line.slice(1));
  };
  while (at < bytes.length) {
    const words = Array.from({ length: number("*") }, () => {
      const end = number("$") + at;
      const word = bytes.toString("utf8", at, end);
      if (bytes.toString("latin1", end, end + 2) !== "\r\n") throw new Error(`No line end after '${word}'`);
      at = end + 2;
      return word;
    });
    const [name = "", ...args] = words;
    lines.push([name.toUpperCase(), ...args].join(" "));
  }
  return lines;
}
