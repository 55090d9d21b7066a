// The counters of a server: plain numbers, for its owner to export.

/** Counters of a server since its start, except the last, which is the number of now. */
export interface Http2Counters {
  connections: number;
  /** Connections that began with HTTP/1, or with something that is no HTTP at all. */
  http1Refused: number;
  foreignPreface: number;
  /** Calls passed to a method. */
  calls: number;
  /** Requests answered with an HTTP status: 405, 415 and 431. */
  notGrpc: number;
  /** Calls of unknown methods, unknown encodings or malformed time-outs. */
  grpcRefused: number;
  /** Streams above the announced number, refused with REFUSED_STREAM. */
  streamsRefused: number;
  /** Calls above those in flight of a connection, answered UNAVAILABLE. */
  callsRefused: number;
  /** Messages refused with RESOURCE_EXHAUSTED: too large, or without memory left in the process. */
  messagesTooLarge: number;
  messagesWithoutMemory: number;
  /** Responses that could not wait for the client for want of memory: their streams were reset. */
  answersWithoutMemory: number;
  /** Calls answered DEADLINE_EXCEEDED by the server. */
  deadlinesExceeded: number;
  /** Responses of methods to streams that were reset, closed or timed out meanwhile. */
  lateAnswers: number;
  clientResets: number;
  /** Faulty streams that the server has reset. */
  streamErrors: number;
  /** Connections closed for a protocol error. */
  connectionErrors: number;
  /** Connections closed with ENHANCE_YOUR_CALM: floods of each kind. */
  resetFloods: number;
  streamErrorFloods: number;
  controlFrameFloods: number;
  headerFloods: number;
  /** Header lists above the announced size. */
  headersTooLarge: number;
  /** Times that reading was paused because a client did not take its answers. */
  readPauses: number;
  /** Streams reset and connections closed because nothing moved. */
  streamStalls: number;
  connectionStalls: number;
  prefaceTimeouts: number;
  keepAliveTimeouts: number;
  /** Connections closed gracefully: those without a request, old ones, and those near the last stream identifier. */
  idleCloses: number;
  ageCloses: number;
  streamIdCloses: number;
  openConnections: number;
}

/** Counters at zero. */
export function createCounters(): Http2Counters {
  return {
    connections: 0,
    http1Refused: 0,
    foreignPreface: 0,
    calls: 0,
    notGrpc: 0,
    grpcRefused: 0,
    streamsRefused: 0,
    callsRefused: 0,
    messagesTooLarge: 0,
    messagesWithoutMemory: 0,
    answersWithoutMemory: 0,
    deadlinesExceeded: 0,
    lateAnswers: 0,
    clientResets: 0,
    streamErrors: 0,
    connectionErrors: 0,
    resetFloods: 0,
    streamErrorFloods: 0,
    controlFrameFloods: 0,
    headerFloods: 0,
    headersTooLarge: 0,
    readPauses: 0,
    streamStalls: 0,
    connectionStalls: 0,
    prefaceTimeouts: 0,
    keepAliveTimeouts: 0,
    idleCloses: 0,
    ageCloses: 0,
    streamIdCloses: 0,
    openConnections: 0,
  };
}
