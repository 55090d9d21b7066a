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
  /** Whether the only `*` is the last character; then only the text before it counts. */
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

/** The state of a lookup after a key that is known in advance; only the value is left to walk. */
export interface KeyEntrance<Node> {
  /** Branches with candidates that were passed on the way. */
  readonly passed: readonly Branch<Node>[];
  /**
   * The branch whose texts end with the separator after the key; undefined when no pattern
   * continues there.
   */
  readonly branch: Branch<Node> | undefined;
  /**
   * All candidates on the way and below it, in configured order; undefined when there are more than
   * `MAX_TRIED`.
   */
  readonly few: readonly Candidate<Node>[] | undefined;
}

/** Most candidates that are tried in turn, which takes less time than the tree. */
const MAX_TRIED = 3;

/**
 * The tree of these nodes, which come in configured order and have a wildcard each; undefined when
 * there are none.
 */
export function createWildcardTree<Node extends Patterned>(nodes: readonly Node[]): Branch<Node> | undefined {
  const root = newBranch<Node>("");
  let order = 0;
  for (const node of nodes) {
    if (node.wildcard === undefined) continue;
    const { pieces } = node.wildcard;
    const isPrefix = pieces.length === 2 && pieces[1] === "";
    plant(root, pieces[0] ?? "").candidates.push({ order, node, wildcard: node.wildcard, isPrefix });
    order += 1;
  }
  return order === 0 ? undefined : root;
}

/**
 * The entrance for entries of this key. Every key that ends at a separator of a pattern's first
 * text ends a branch, so there is no half of a text left.
 */
export function entranceOf<Node>(root: Branch<Node>, key: string): KeyEntrance<Node> {
  const text = key + SEPARATOR;
  const passed: Branch<Node>[] = [];
  let branch: Branch<Node> | undefined = root;
  let at = 0;
  while (branch !== undefined && at < text.length) {
    if (branch.candidates.length > 0) passed.push(branch);
    branch = nextBranch(branch, text, at);
    at += branch?.text.length ?? 0;
  }
  const candidates = [...passed, ...(branch === undefined ? [] : branchesFrom(branch))].flatMap(
    (each) => each.candidates,
  );
  return {
    passed,
    branch,
    few: candidates.length > MAX_TRIED ? undefined : candidates.sort((a, b) => a.order - b.order),
  };
}

function branchesFrom<Node>(start: Branch<Node>): readonly Branch<Node>[] {
  const branches = [start];
  for (const branch of branches) branches.push(...branch.below.values()); // Those that are added on the way are walked too.
  return branches;
}

/** The first pattern that matches an entry whose key has an entrance. */
export function findFromEntrance<Node>(entrance: KeyEntrance<Node>, key: string, value: string): Node | undefined {
  if (entrance.few !== undefined) {
    for (const { node, wildcard } of entrance.few) if (matchesWildcard(wildcard, key, value)) return node;
    return undefined;
  }
  let best: Candidate<Node> | undefined;
  for (const branch of entrance.passed) best = betterOf(best, branch, key, value);
  return entrance.branch === undefined ? best?.node : findBelow(entrance.branch, value, best, key, value)?.node;
}

/**
 * The first pattern that matches an entry whose key has no entrance: no first text goes beyond such
 * a key.
 */
export function findFromRoot<Node>(root: Branch<Node>, key: string, value: string): Node | undefined {
  return findBelow(root, key, undefined, key, value)?.node;
}

/** The best candidate of this branch and of those that `text` leads to from here. */
function findBelow<Node>(
  start: Branch<Node>,
  text: string,
  found: Candidate<Node> | undefined,
  key: string,
  value: string,
): Candidate<Node> | undefined {
  let best = found;
  let branch: Branch<Node> | undefined = start;
  let at = 0;
  for (;;) {
    if (branch.candidates.length > 0) best = betterOf(best, branch, key, value);
    branch = nextBranch(branch, text, at);
    if (branch === undefined) return best;
    at += branch.text.length;
  }
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

/**
 * The branch where `text` ends, made if need be. A branch ends behind every separator, because keys
 * end there.
 */
function plant<Node>(root: Branch<Node>, text: string): Branch<Node> {
  let branch = root;
  let at = 0;
  while (at < text.length) {
    const separator = text.indexOf(SEPARATOR, at);
    const end = separator === -1 ? text.length : separator + 1;
    branch = plantPart(branch, text.slice(at, end));
    at = end;
  }
  return branch;
}

function plantPart<Node>(start: Branch<Node>, part: string): Branch<Node> {
  let branch = start;
  let rest = part;
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
