// The interface of gRPC methods: what a server calls for a request, and how a method answers.

/** Writes messages of one type into a buffer. One instance serves every call of a method. */
export interface MessageEncoder<T> {
  /** The size of the encoded message in bytes, or more; never less. */
  maxBytes(value: T): number;
  /** Writes the message from `offset` on and returns the offset after its last byte. */
  encode(value: T, target: Buffer, offset: number): number;
}

/** One call, unary or streaming, as its method sees it. */
export interface Call {
  /** When the client stops waiting, by the clock of Turn.monotonicMs; undefined if never. */
  readonly deadlineMs: number | undefined;
  /**
   * The client's headers without pseudo-headers, values of a repeated name joined by ", ". To be
   * read only while the method is being called: the bytes below are reused afterwards.
   */
  headers(): Readonly<Record<string, string>>;
}

/** A call with one request, which usually gets one answer. Exactly one of the methods is called, once. */
export interface UnaryCall extends Call {
  /**
   * Sends the message with status OK. Nothing is sent when the client has reset the stream, or was
   * answered DEADLINE_EXCEEDED.
   */
  reply<T>(encoder: MessageEncoder<T>, value: T): void;
  /** Sends a gRPC status other than OK. `message` is any text. */
  fail(status: number, message: string): void;
  /** Responses with any number of messages, and a status. */
  stream(receiver: StreamingReceiver): StreamingCall;
}

/** A call with any number of requests and answers. */
export interface StreamingCall extends Call {
  /** Sends one message; false when the client reads too slowly and this one was not sent. */
  send<T>(encoder: MessageEncoder<T>, value: T): boolean;
  /**
   * The same for one message in chunks, which are sent without a copy of the whole: for messages that
   * many calls share. They take none of the server's memory for unsent output, and must not change.
   */
  sendShared(chunks: readonly Buffer[]): boolean;
  /** Ends the call with a gRPC status, 0 for OK, after the message of the last `send`. Later calls do nothing. */
  end(status: number, message: string): void;
  /**
   * Closes the stream immediately: what the client has not taken is dropped. After `end` the client
   * gets NO_ERROR if it has its answer, else CANCEL.
   */
  reset(): void;
}

/** Receives the requests of a streaming call. */
export interface StreamingReceiver {
  /** One request, valid until this returns: the message is `bytes` from `start` up to `end`. */
  message(bytes: Buffer, start: number, end: number): void;
  /** The client sends no more requests. */
  halfClosed(): void;
  /**
   * The message of the last `send` is sent, so that the next one can be. Also called before `send`
   * returns, when nothing holds its message back. For methods that send more than the client takes.
   */
  sent?(): void;
  /** The client is gone or its deadline has passed before `end`: nothing can be sent any more. */
  cancelled(): void;
  /**
   * The stream is closed: the client has what was sent, or is gone. Always the last call, unless
   * `open` has ended the stream.
   */
  closed?(): void;
}

/** A method with one request. */
export interface UnaryMethod {
  readonly kind: "unary";
  /** Responses the call, now or later. The message is `bytes` from `start` up to `end`, valid until this returns. */
  handle(call: UnaryCall, bytes: Buffer, start: number, end: number): void;
}

/** A method with streams of requests or answers. */
export interface StreamingMethod {
  readonly kind: "streaming";
  /** Begins a call; the requests go to the returned receiver. */
  open(call: StreamingCall): StreamingReceiver;
}

/** The methods of a server by path, for example "/grpc.health.v1.Health/Check". */
export type Methods = ReadonlyMap<string, UnaryMethod | StreamingMethod>;

/** Something to do at the end of the event-loop turn. */
export interface TurnTask {
  /** Called once for each time that it was scheduled. Must not throw. */
  runAtTurnEnd(): void;
}

/** The event-loop turn as the server needs it. */
export interface Turn {
  /** Runs the task at the end of this turn, after what stores are sent. Once per turn and task. */
  atTurnEnd(task: TurnTask): void;
  /** Milliseconds of a clock that only goes forward. */
  monotonicMs(): number;
}
