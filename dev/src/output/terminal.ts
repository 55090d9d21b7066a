// The lines that the local stack prints: progress with seconds since the start, then events with
// the time of day, in one column layout.

/** Width of the column with the program that a line is about. */
const SUBJECT_WIDTH = 14;

/** Writes the lines of the stack. */
export class Terminal {
  readonly #write: (text: string) => void;
  readonly #clock: () => number;
  readonly #startedMs: number;

  /** `clock` returns milliseconds since the epoch. */
  constructor(deps: { readonly write: (text: string) => void; readonly clock: () => number }) {
    this.#write = deps.write;
    this.#clock = deps.clock;
    this.#startedMs = deps.clock();
  }

  /** Prints one step of the start or the stop, with the seconds since the stack started. */
  progress(subject: string, text: string): void {
    const seconds = ((this.#clock() - this.#startedMs) / 1000).toFixed(1);
    this.#line(`${seconds.padStart(6)} s`, subject, text);
  }

  /** Prints an event with the time of day. Further lines of `text` are indented below the first. */
  event(subject: string, text: string): void {
    this.#line(new Date(this.#clock()).toTimeString().slice(0, 8), subject, text);
  }

  /** Prints text as it is, for the guide and for errors. */
  plain(text: string): void {
    this.#write(`${text}\n`);
  }

  #line(mark: string, subject: string, text: string): void {
    const first = `${mark}  ${subject.padEnd(SUBJECT_WIDTH)} `;
    this.#write(`${first}${text.replaceAll("\n", `\n${" ".repeat(first.length)}`)}\n`);
  }
}
