// One numbered case of conformance: what envoyproxy/ratelimit does, and whether Weir does the same. The
// cases are in cases-*.ts.

/** One numbered case. */
export interface ConformanceCase {
  readonly number: number;
  /** What is given and the result. */
  readonly says: string;
  /**
   * Why this service does otherwise on purpose, and what it does; undefined when it does the same.
   */
  readonly differs?: string;
  /** Why there is nothing to show; undefined when there is. A case has at most one of the two. */
  readonly absent?: string;
}

/** Cases about one thing. */
export interface ConformanceSection {
  readonly title: string;
  readonly cases: readonly ConformanceCase[];
}

/** A case in which this service does the same. */
export function same(number: number, says: string): ConformanceCase {
  return { number, says };
}

/** A case in which this service does otherwise. */
export function ours(number: number, says: string, differs: string): ConformanceCase {
  return { number, says, differs };
}

/** A case that means nothing here. */
export function none(number: number, says: string, absent: string): ConformanceCase {
  return { number, says, absent };
}
