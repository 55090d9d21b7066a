// Revisions for tests, without a manifest behind them. Only tests import it.
import { API_VERSION, KIND } from "@weir/crds/rate-limit-config/schema/schema";
import { contentHash } from "@weir/proto/grpc/set-version";

import type { RevisionFacts } from "./revision-history.ts";
import type { Revision } from "./revision.ts";

/** The fields in which revisions of tests differ. */
export interface RevisionText {
  /** `<namespace>/<name>`; the namespace is `default` unless the name has one. */
  readonly name: string;
  /** The content; revisions with the same content have the same digest. */
  readonly content?: number | string;
  readonly identity?: string;
  readonly createdMs?: number;
  readonly sizeBytes?: number;
  readonly sequence?: number;
  readonly shadowMode?: boolean;
}

let sequence = 0;

/** The source has handed over no revisions, and pods have loaded none. */
export const NOTHING_KNOWN: RevisionFacts = { lastGoodOf: () => [], isLoaded: () => false };

/** A revision; each one is newer than those before. */
export function revisionOf({
  name,
  content = 1,
  identity = "one",
  createdMs = 0,
  sizeBytes,
  shadowMode = false,
  ...rest
}: RevisionText): Revision {
  const key = name.includes("/") ? name : `default/${name}`;
  const text = `${key}=${content}`;
  const bytes = Buffer.alloc(sizeBytes ?? text.length, text);
  sequence += 1;
  const namespace = key.slice(0, key.indexOf("/"));
  const spec = { domain: key, shadowMode };
  const manifest = { apiVersion: API_VERSION, kind: KIND, metadata: { name: "test" }, spec } as const;
  return {
    name: key,
    namespace,
    identity,
    createdMs,
    domain: key,
    bytes,
    digest: contentHash(text),
    sequence,
    manifest,
    ...rest,
  };
}

/** The contents of revisions: `<namespace>/<name>=<content>`. */
export function contentsOf(revisions: readonly Revision[]): readonly string[] {
  return revisions.map(({ bytes }) => bytes.toString());
}
