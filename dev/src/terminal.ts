// What the local stack says to the person at the terminal: progress with seconds since the start,
// then events with the time of day, in one column layout. It knows neither programs nor
// configuration, only lines.

/** Width of the column that holds who speaks. */
const SPEAKER_WIDTH = 14;

/** Writes the lines of the stack. */
export interface Terminal {
  /** One step of starting or stopping, with the seconds since the stack started. */
  progress(speaker: string, text: string): void;
  /**
   * Something that happened while the stack runs, with the time of day. Further lines of `text` are
   * indented below the first.
   */
  event(speaker: string, text: string): void;
  /** Text as it is, for the table and for errors. */
  plain(text: string): void;
}

/** A terminal that writes to `write`; `clock` tells the time in milliseconds since the epoch. */
export function createTerminal(deps: {
  readonly write: (text: string) => void;
  readonly clock: () => number;
}): Terminal {
  const startedMs = deps.clock();
  const line = (mark: string, speaker: string, text: string): void => {
    const first = `${mark}  ${speaker.padEnd(SPEAKER_WIDTH)} `;
    deps.write(`${first}${text.replaceAll("\n", `\n${" ".repeat(first.length)}`)}\n`);
  };
  return {
    progress: (speaker, text) => line(`${((deps.clock() - startedMs) / 1000).toFixed(1).padStart(6)} s`, speaker, text),
    event: (speaker, text) => line(timeOfDay(deps.clock()), speaker, text),
    plain: (text) => deps.write(`${text}\n`),
  };
}

function timeOfDay(nowMs: number): string {
  const now = new Date(nowMs);
  return [now.getHours(), now.getMinutes(), now.getSeconds()].map((part) => String(part).padStart(2, "0")).join(":");
}
