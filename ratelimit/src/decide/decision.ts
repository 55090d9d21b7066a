// The answer to a rate limit request, free of any wire: transports encode it and change nothing.
import type { JsonObject } from "@bufbuild/protobuf";
import type { Code, DescriptorStatus } from "@weir/limits/classify/status";

/**
 * The answer. It belongs to the transport once `decided` was called; the decider does not
 * keep it.
 */
export interface Decision {
  /** The code for the caller, after global shadow mode and quota mode. */
  readonly overallCode: Code;
  /** One per descriptor of the request, in its order. */
  readonly statuses: readonly DescriptorStatus[];
  /**
   * Response headers to add, in this order; undefined when the feature is off or no descriptor has
   * a limit.
   */
  readonly headers: readonly HeaderToAdd[] | undefined;
  /** Dynamic metadata as JSON of a protobuf Struct; undefined when the feature is off. */
  readonly dynamicMetadata: JsonObject | undefined;
}

/** A response header; names keep the letter case of the setting. */
export interface HeaderToAdd {
  readonly key: string;
  readonly value: string;
}
