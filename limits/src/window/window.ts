// Arithmetic of fixed windows, aligned to the Unix epoch. Pure: the time comes in.

/** Start of the window that contains the moment, in whole seconds since the epoch. */
export function windowStartSeconds(nowSeconds: number, windowSeconds: number): number {
  return nowSeconds - (nowSeconds % windowSeconds);
}

/** Whole seconds until the window that contains the moment ends: 1 to `windowSeconds`. */
export function secondsUntilReset(nowSeconds: number, windowSeconds: number): number {
  return windowSeconds - (nowSeconds % windowSeconds);
}
