// Converts a sampled heap profile of V8 to one that `go tool pprof` reads: the functions that
// allocated the memory in use.
import { type CallFrame, type LocationId, ProfileBuilder } from "./profile-builder.ts";

const ROOT = "(root)";

/** Sizes of objects are multiples of this, in bytes. */
const ALIGNMENT_BYTES = 8;

/** The used part of V8's profile. Sizes are bytes, scaled to the memory that a sample represents. */
export interface SampledHeap {
  readonly head: SampledNode;
  readonly samples: readonly { readonly nodeId: number; readonly size: number }[];
}

/** A node of the tree of calls. */
export interface SampledNode {
  readonly id: number;
  readonly callFrame: CallFrame;
  readonly selfSize: number;
  readonly children: readonly SampledNode[];
}

/**
 * The profile, gzipped: objects and bytes in use. With `before`, an earlier one, what was added and
 * freed since then, `durationMs` ago. `intervalBytes` is the mean distance of two samples.
 */
export function convertHeapProfile(
  profile: SampledHeap,
  {
    intervalBytes,
    ...facts
  }: { readonly intervalBytes: number; readonly takenAtMs: number; readonly durationMs: number },
  before?: SampledHeap,
): Buffer {
  const builder = new ProfileBuilder({
    kinds: [
      ["inuse_objects", "count"],
      ["inuse_space", "bytes"],
    ],
    period: intervalBytes,
    ...facts,
  });
  addProfile(builder, profile, { intervalBytes, sign: 1 });
  if (before !== undefined) addProfile(builder, before, { intervalBytes, sign: -1 });
  return builder.build();
}

function addProfile(
  builder: ProfileBuilder,
  { head, samples }: SampledHeap,
  { intervalBytes, sign }: { readonly intervalBytes: number; readonly sign: 1 | -1 },
): void {
  const objects = new Map<number, number>();
  for (const { nodeId, size } of samples)
    objects.set(nodeId, (objects.get(nodeId) ?? 0) + objectsIn(size, intervalBytes));
  const visit = (node: SampledNode, callers: readonly LocationId[]): void => {
    const stack = node.callFrame.functionName === ROOT ? callers : [builder.location(node.callFrame), ...callers];
    if (node.selfSize > 0) {
      // What the root itself allocated was allocated by no function.
      const shown =
        stack.length > 0 ? stack : [builder.location({ functionName: "(native)", url: "", lineNumber: -1 })];
      builder.add(shown, [sign * (objects.get(node.id) ?? 1), sign * Math.round(node.selfSize)]);
    }
    for (const child of node.children) visit(child, stack); // As deep as the stacks that the sampler keeps.
  };
  visit(head, []);
}

/**
 * How many objects a sample represents. V8 reports only the bytes: the size of the sampled object
 * times round(1 / (1 − e^(−size / interval))), which for objects far smaller than the interval is
 * the interval plus at most one object. So the object is the smallest aligned divisor of the bytes
 * that is not smaller than what goes beyond the interval; where the interval is a multiple of the
 * size, as of most sizes that occur, that is exact.
 */
export function objectsIn(sampleBytes: number, intervalBytes: number): number {
  if (sampleBytes < intervalBytes) return 1;
  const first = Math.max(ALIGNMENT_BYTES, Math.ceil((sampleBytes - intervalBytes) / ALIGNMENT_BYTES) * ALIGNMENT_BYTES);
  for (let sizeBytes = first; sizeBytes <= sampleBytes / 2; sizeBytes += ALIGNMENT_BYTES) {
    const objects = sampleBytes / sizeBytes;
    if (Number.isInteger(objects) && Math.round(1 / -Math.expm1(-sizeBytes / intervalBytes)) === objects)
      return objects;
  }
  return 1;
}
