// Encodes the header blocks of a gRPC server (RFC 7541).

/**
 * The encoder of one connection. Every method writes into `target` from `offset` on and returns the
 * offset after its last byte; the caller provides room for the bytes that each names.
 */
export class HpackEncoder {
  /** Follows the peer's SETTINGS_HEADER_TABLE_SIZE; the next block announces what changes. */
  setTableMaxBytes(_bytes: number): void {
    throw new Error("Cannot encode yet");
  }

  /** A whole block: ":status: 200", "content-type: application/grpc". At most 40 bytes. */
  responseHeaders(_target: Buffer, _offset: number): number {
    throw new Error("Cannot encode yet");
  }

  /** A whole block: "grpc-status: 0". At most 24 bytes. */
  okTrailers(_target: Buffer, _offset: number): number {
    throw new Error("Cannot encode yet");
  }

  /** Begins any other block; fields follow. At most 8 bytes. */
  begin(_target: Buffer, _offset: number): number {
    throw new Error("Cannot encode yet");
  }

  /** The field ":status", from 100 to 999. At most 5 bytes. */
  status(_target: Buffer, _offset: number, _code: number): number {
    throw new Error("Cannot encode yet");
  }

  /** The field "content-type: application/grpc". At most 32 bytes. */
  grpcContentType(_target: Buffer, _offset: number): number {
    throw new Error("Cannot encode yet");
  }

  /**
   * Any other field, never indexed by us; name in lower case, both of ASCII. At most 12 bytes more than both.
   */
  field(_target: Buffer, _offset: number, _name: string, _value: string): number {
    throw new Error("Cannot encode yet");
  }
}
