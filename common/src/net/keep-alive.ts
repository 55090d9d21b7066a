// How listeners find out that a peer is gone without a word, as after a loss of power or behind a
// firewall that forgets. Values for node:net, no behaviour.

/**
 * How long a connection is silent before the system asks the peer whether it is there, in
 * milliseconds. It asks ten times, a second apart.
 */
const SILENT_MS = 60_000;

/** For the options of every server. */
export const KEEP_ALIVE_PROBES = { keepAlive: true, keepAliveInitialDelay: SILENT_MS } as const;
