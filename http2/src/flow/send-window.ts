// The windows of flow control in the direction of the peer (RFC 9113, 6.9).

/** The window of a connection and of its streams before any SETTINGS, in bytes. */
export const DEFAULT_WINDOW_BYTES = 65_535;

/** The largest window, in bytes. */
export const MAX_WINDOW_BYTES = 0x7fff_ffff;

/**
 * A window after a WINDOW_UPDATE, or after a change of the initial window, which may make it
 * negative. Undefined when it would exceed the largest.
 */
export function widenWindow(windowBytes: number, incrementBytes: number): number | undefined {
  const wider = windowBytes + incrementBytes;
  return wider > MAX_WINDOW_BYTES ? undefined : wider;
}
