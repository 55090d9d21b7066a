// The schema of Kubernetes' object metadata in a manifest: it refuses what an API server refuses. The CRD has none.
import * as z from "zod";

/** Names as Kubernetes wants them: of objects (DNS subdomain) and of namespaces (DNS label). */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const OBJECT_NAME_LENGTH_MAX = 253;
const NAMESPACE_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const NAMESPACE_NAME_LENGTH_MAX = 63;

/** Values of labels, and the part behind the slash in the names of labels and annotations. */
const LABEL_TEXT = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const LABEL_TEXT_LENGTH_MAX = 63;

/** Largest sum of all names and values of annotations, in bytes. */
const ANNOTATIONS_MAX_BYTES = 256 * 1024;

const OBJECT_NAME_MESSAGE =
  'must consist of lower-case letters, digits, "-" and ".", and begin and end with a letter or digit';
const NAMESPACE_NAME_MESSAGE =
  'must consist of lower-case letters, digits and "-", and begin and end with a letter or digit';
const LABEL_TEXT_MESSAGE = `must have at most ${LABEL_TEXT_LENGTH_MAX} letters, digits, "-", "_" and ".", and begin and end with a letter or digit`;
const QUALIFIED_NAME_MESSAGE =
  `must be NAME or PREFIX/NAME: NAME of at most ${LABEL_TEXT_LENGTH_MAX} letters, digits, "-", "_" and ".", beginning and ending ` +
  "with a letter or digit, PREFIX like example.com";
const ANNOTATIONS_MESSAGE = `must have at most ${ANNOTATIONS_MAX_BYTES} bytes in all names and values together`;
const TIME_MESSAGE = "must be a time such as 2026-01-31T12:00:00Z";

const time = z.iso.datetime({ offset: true, error: TIME_MESSAGE });

/** Texts by name; null is as good as the empty text. */
const texts = z.record(z.string(), z.string().nullable());

const labels = texts.superRefine((all, context) => {
  for (const [name, value] of Object.entries(all)) {
    if (!isQualifiedName(name)) context.addIssue(nameIssue(name));
    if (value !== null && value !== "" && !isLabelText(value)) {
      context.addIssue({ code: "custom", path: [name], message: LABEL_TEXT_MESSAGE, input: value });
    }
  }
});

const annotations = texts.superRefine((all, context) => {
  // The API server looks at the name in lower case here.
  for (const name of Object.keys(all)) if (!isQualifiedName(name.toLowerCase())) context.addIssue(nameIssue(name));
  const sizeBytes = Object.entries(all).reduce(
    (sum, [name, value]) => sum + Buffer.byteLength(name) + Buffer.byteLength(value ?? ""),
    0,
  );
  if (sizeBytes > ANNOTATIONS_MAX_BYTES) context.addIssue({ code: "custom", message: ANNOTATIONS_MESSAGE, input: all });
});

/** The fields that `metadata` of a manifest may have. */
export const objectMetadata = z.object({
  name: z.string().max(OBJECT_NAME_LENGTH_MAX).regex(OBJECT_NAME, OBJECT_NAME_MESSAGE),
  // Templates write an empty one where they have none to name: it counts as absent.
  namespace: z.preprocess(
    (value) => (value === "" ? undefined : value),
    z.string().max(NAMESPACE_NAME_LENGTH_MAX).regex(NAMESPACE_NAME, NAMESPACE_NAME_MESSAGE).optional(),
  ),
  uid: z.string().optional(),
  resourceVersion: z.string().optional(),
  generation: z.int().optional(),
  creationTimestamp: time.optional(),
  deletionTimestamp: time.optional(),
  labels: labels.optional(),
  annotations: annotations.optional(),
  // Known, so that they are not refused; they have no meaning here.
  deletionGracePeriodSeconds: z.int().optional(),
  finalizers: z
    .array(z.string().refine(isQualifiedName, QUALIFIED_NAME_MESSAGE))
    // Server-side apply refuses it.
    .refine((finalizers) => new Set(finalizers).size === finalizers.length, "must not name a finalizer twice")
    .optional(),
  generateName: z.string().optional(),
  managedFields: z.array(z.unknown()).optional(),
  ownerReferences: z.array(z.unknown()).optional(),
  selfLink: z.string().optional(),
});

/**
 * The same of an object that an API server has taken already, by rules that may be newer than
 * these: only what is used is looked at.
 */
export const storedObjectMetadata = objectMetadata.extend({
  labels: texts.optional(),
  annotations: texts.optional(),
  finalizers: z.unknown().optional(),
});

/** The issue of a name, placed at the name and not at its value. */
function nameIssue(name: string): Parameters<z.RefinementCtx["addIssue"]>[0] {
  return { code: "custom", path: [name], message: QUALIFIED_NAME_MESSAGE, input: name, params: { about: "name" } };
}

/** `NAME` or `PREFIX/NAME`, as labels and annotations are called. */
function isQualifiedName(text: string): boolean {
  const [last = "", prefix, ...more] = text.split("/").toReversed();
  const isPrefix = prefix === undefined || (prefix.length <= OBJECT_NAME_LENGTH_MAX && OBJECT_NAME.test(prefix));
  return more.length === 0 && isPrefix && isLabelText(last);
}

function isLabelText(text: string): boolean {
  return text.length <= LABEL_TEXT_LENGTH_MAX && LABEL_TEXT.test(text);
}
