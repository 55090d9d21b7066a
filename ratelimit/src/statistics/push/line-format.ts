// How one statistic is written; implemented once per kind of receiver. Where the lines go is a
// matter of the channel.

/** Writes statistics as lines, each with its line end. */
export interface LineFormat {
  /** A counter that grew by a whole number above 0. */
  counter(name: string, difference: number): string;
  /** The value of a gauge. */
  gauge(name: string, value: number): string;
  /** One duration in whole milliseconds. */
  timer(name: string, durationMs: number): string;
  /** What is written after everything of a flush; may be nothing. */
  flushed(): string;
}
