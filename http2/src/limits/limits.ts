// Every bound of the server, with its default.

/** The bounds of a server. Those of a connection apply to each alone. */
export interface Http2Limits {
  /** Streams that a client may have open on a connection, announced to it. */
  readonly concurrentStreamsMax: number;
  /**
   * Calls that methods have not answered yet, on a connection. Calls whose stream the client has
   * reset count, so it can exceed the streams.
   */
  readonly callsInFlightMax: number;
  /** Longest decoded header list, in bytes as RFC 9113 (6.5.2) counts them; announced. */
  readonly headerListMaxBytes: number;
  /** Longest header block before it is decoded, over all its frames, in bytes. */
  readonly headerBlockMaxBytes: number;
  /** Most CONTINUATION frames of one header block. */
  readonly continuationFramesMax: number;
  /** Longest message of a request, in bytes. Longer ones get RESOURCE_EXHAUSTED. */
  readonly messageMaxBytes: number;
  /** Bytes that a client may send on a connection without a WINDOW_UPDATE; at least 65,535. */
  readonly connectionWindowBytes: number;
  /**
   * Memory of the output of a connection that the client has not taken, in whole chunks of 16 KiB.
   * From here on nothing is read from it.
   */
  readonly unsentMaxBytes: number;
  /** Incomplete requests and unsent output of all connections together, in bytes. */
  readonly processMaxBytes: number;
  /** Chunks of output, of 16 KiB, that are kept while no connection needs them. */
  readonly freeChunksMax: number;
  /** The time over which the frames below are counted, in milliseconds. */
  readonly frameWindowMs: number;
  /**
   * Frames that carry no call, per window: SETTINGS, PING, PRIORITY, WINDOW_UPDATE, unknown types and
   * empty DATA.
   */
  readonly controlFramesMax: number;
  /** Further frames of that kind for each answer of the window, or longer part of one. */
  readonly controlFramesPerAnswer: number;
  /** Streams that the client resets, beyond those that are answered, per window. */
  readonly clientResetsMax: number;
  /** Faulty streams that the server has to reset, per window. */
  readonly streamErrorsMax: number;
  /** From the connection to its preface and SETTINGS, in milliseconds. */
  readonly prefaceTimeoutMs: number;
  /** From the connection to its first request, in milliseconds. */
  readonly firstRequestTimeoutMs: number;
  /** Without any byte from the client for this time, it gets a PING. */
  readonly keepAliveIntervalMs: number;
  /** Without any byte for this time after the PING, the connection is closed. */
  readonly keepAliveTimeoutMs: number;
  /** A frame, or output on the socket, that makes no progress for this time ends with its connection. */
  readonly stallTimeoutMs: number;
  /**
   * An answer or a request that makes no progress for this time ends with its stream; so does a stream
   * that is answered and that the client does not end.
   */
  readonly streamStallTimeoutMs: number;
  /**
   * A message, of a request or an answer, takes no longer than this, however steadily it moves: its
   * memory is that of the process. Its stream is reset.
   */
  readonly messageTimeoutMs: number;
  /** Age at which a connection is closed gracefully, ±10 %, in milliseconds. Infinity = never. */
  readonly connectionAgeMs: number;
  /** Time for the calls of a connection that is closed gracefully, in milliseconds. */
  readonly connectionAgeGraceMs: number;
  /** The stream identifier from which on a connection is closed gracefully, long before 2^31. */
  readonly streamIdMax: number;
}

/** The bounds that apply where nothing else is chosen. */
export const DEFAULT_LIMITS: Http2Limits = {
  concurrentStreamsMax: 1000,
  callsInFlightMax: 2000,
  headerListMaxBytes: 16_384,
  headerBlockMaxBytes: 32_768,
  continuationFramesMax: 8,
  messageMaxBytes: 4 * 1024 * 1024,
  connectionWindowBytes: 1024 * 1024,
  unsentMaxBytes: 256 * 1024,
  processMaxBytes: 32 * 1024 * 1024,
  freeChunksMax: 256,
  frameWindowMs: 10_000,
  controlFramesMax: 2000,
  controlFramesPerAnswer: 4,
  clientResetsMax: 4000,
  streamErrorsMax: 500,
  prefaceTimeoutMs: 10_000,
  firstRequestTimeoutMs: 300_000,
  keepAliveIntervalMs: 30_000,
  keepAliveTimeoutMs: 20_000,
  stallTimeoutMs: 20_000,
  streamStallTimeoutMs: 20_000,
  messageTimeoutMs: 60_000,
  connectionAgeMs: Infinity,
  connectionAgeGraceMs: Infinity,
  streamIdMax: 0x7000_0000,
};
