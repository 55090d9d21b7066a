// The patterns of one level in a tree of the texts before their first `*`, so that a thousand
// patterns cost about as much as ten.
import { matchesWildcard, SEPARATOR, type Wildcard } from "./wildcard.ts";

/** A node of the level; only its pattern matters here. */
interface Patterned {
  readonly wildcard: Wildcard | undefined;
}

/** A pattern and its position among those of the level. */
export interface Candidate<Node> {
  /** Position in configured order: of several that match, the lowest wins. */
  readonly order: number;
  readonly node: Node;
  readonly wildcard: Wildcard;
  /** True if the only `*` is the last character; then only the text before it counts. */
  readonly isPrefix: boolean;
}

/**
 * A branch of the tree. The texts from the root down, joined, are the text before the first `*` of
 * the candidates here.
 */
export interface Branch<Node> {
  readonly text: string;
  /** In configured order. */
  readonly candidates: Candidate<Node>[];
  /** By the first UTF-16 unit of their text. */
  readonly below: Map<number, Branch<Node>>;
}

/**
 * Builds the tree of those of the nodes that have a wildcard, in steps. They come in configured
 * order; undefined when there are none.
 */
export function* wildcardTreeSteps<Node extends Patterned>(
  nodes: readonly Node[],
): Generator<undefined, Branch<Node> | undefined> {
  const root = newBranch<Node>("");
  let order = 0;
  for (const node of nodes) {
    if (node.wildcard === undefined) continue;
    const { pieces } = node.wildcard;
    const isPrefix = pieces.length === 2 && pieces[1] === "";
    plant(root, pieces[0] ?? "").candidates.push({ order, node, wildcard: node.wildcard, isPrefix });
    order += 1;
    yield;
  }
  return order === 0 ? undefined : root;
}

/** The first pattern in configured order that matches the entry. */
export function findPattern<Node>(root: Branch<Node>, key: string, value: string): Node | undefined {
  const text = key + SEPARATOR + value;
  let best: Candidate<Node> | undefined;
  let branch: Branch<Node> | undefined = root;
  let at = 0;
  while (branch !== undefined) {
    if (branch.candidates.length > 0) best = betterOf(best, branch, key, value);
    branch = nextBranch(branch, text, at);
    at += branch?.text.length ?? 0;
  }
  return best?.node;
}

function nextBranch<Node>(branch: Branch<Node>, text: string, at: number): Branch<Node> | undefined {
  if (at >= text.length) return undefined;
  const next = branch.below.get(text.charCodeAt(at));
  return next !== undefined && text.startsWith(next.text, at) ? next : undefined;
}

function betterOf<Node>(
  best: Candidate<Node> | undefined,
  { candidates }: Branch<Node>,
  key: string,
  value: string,
): Candidate<Node> | undefined {
  for (const candidate of candidates) {
    if (best !== undefined && candidate.order > best.order) return best;
    if (candidate.isPrefix || matchesWildcard(candidate.wildcard, key, value)) return candidate;
  }
  return best;
}

function newBranch<Node>(text: string): Branch<Node> {
  return { text, candidates: [], below: new Map() };
}

/** The branch where `text` ends, made if need be. */
function plant<Node>(start: Branch<Node>, text: string): Branch<Node> {
  let branch = start;
  let rest = text;
  while (rest !== "") {
    const next: Branch<Node> | undefined = branch.below.get(rest.charCodeAt(0));
    const common = next === undefined ? rest.length : commonLength(next.text, rest);
    if (next === undefined || common < next.text.length) {
      const split = newBranch<Node>(rest.slice(0, common));
      branch.below.set(rest.charCodeAt(0), split);
      if (next !== undefined) split.below.set(next.text.charCodeAt(common), { ...next, text: next.text.slice(common) });
      branch = split;
    } else {
      branch = next;
    }
    rest = rest.slice(common);
  }
  return branch;
}

function commonLength(one: string, other: string): number {
  const end = Math.min(one.length, other.length);
  for (let at = 0; at < end; at++) if (one.charCodeAt(at) !== other.charCodeAt(at)) return at;
  return end;
}
