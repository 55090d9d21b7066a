// Fields that several parts of a RateLimitService share: references, addresses, durations, quantities.
import * as z from "zod";

import type { CelRule } from "../../schema/cel-rules.ts";
import { text } from "../../schema/fields.ts";

/** Names of objects of Kubernetes, and of keys inside a Secret or ConfigMap. */
const OBJECT_NAME = /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/;
const OBJECT_NAME_LENGTH_MAX = 253;
const DATA_KEY = /^[-._a-zA-Z0-9]+$/;

/** host:port, with a host name, an IPv4 address, or an IPv6 address in brackets. */
const HOST_PORT = /^([A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}$/;
const HOST_PORT_LENGTH_MAX = 262;
const HOST = /^([A-Za-z0-9]([-A-Za-z0-9._]*[A-Za-z0-9.])?|\[[0-9A-Fa-f:.]+\])$/;

/** Durations as the settings of the data plane have them. */
const DURATION = /^[0-9]{1,9}(\.[0-9]{1,9})?(ms|s|m|h)$/;
const DURATION_LENGTH_MAX = 22;

/** Quantities of Kubernetes, such as 100m, 1.5 and 512Mi. */
const QUANTITY = /^[0-9]+(\.[0-9]{1,9})?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$/;
const QUANTITY_LENGTH_MAX = 32;

/** Names and values of labels, and values of annotations. */
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const LABEL_VALUE_LENGTH_MAX = 63;
/** Most labels or annotations of one object. */
const LABELS_MAX = 64;
const ANNOTATION_LENGTH_MAX = 16_384;

const RESERVED_ANNOTATION: CelRule<Readonly<Record<string, string>>> = {
  rule: "!self.exists(name, name.startsWith('ratelimit.weir.dev/'))",
  message: "annotations that begin with ratelimit.weir.dev/ are set by the operator; any other is allowed",
  isKept: (self) => !Object.keys(self).some((name) => name.startsWith("ratelimit.weir.dev/")),
};

/** The name of another object. */
export function objectName(description: string, example: string): z.ZodString {
  return z
    .string()
    .min(1, { abort: true })
    .max(OBJECT_NAME_LENGTH_MAX)
    .regex(
      OBJECT_NAME,
      'must consist of lower-case letters, digits, "-" and ".", and begin and end with a letter or digit',
    )
    .meta({ description, example });
}

/** The name of a key inside a Secret or ConfigMap. */
export function dataKey(description: string, example: string): z.ZodString {
  return z
    .string()
    .min(1, { abort: true })
    .max(OBJECT_NAME_LENGTH_MAX)
    .regex(DATA_KEY, 'must consist of letters, digits, "-", "_" and "."')
    .meta({ description, example });
}

/** One key of a Secret in the namespace of the resource. */
export function secretKey(
  description: string,
  example: { readonly name: string; readonly key: string },
): z.ZodObject<{ name: z.ZodString; key: z.ZodString }> {
  return z
    .object({
      name: objectName("Name of the Secret, in the same namespace.", example.name),
      key: dataKey("Key inside the Secret.", example.key),
    })
    .describe(description);
}

/** `host:port`. */
export function hostPort(description: string, example: string): z.ZodString {
  return z
    .string()
    .min(3, { abort: true })
    .max(HOST_PORT_LENGTH_MAX)
    .regex(HOST_PORT, "must be host:port, such as redis.shop.svc:6379 or [::1]:6379")
    .meta({ description, example });
}

/** A host without a port. */
export function host(description: string, example: string): z.ZodString {
  return z
    .string()
    .min(1, { abort: true })
    .max(OBJECT_NAME_LENGTH_MAX)
    .regex(HOST, "must be a host name or an IP address, IPv6 in brackets")
    .meta({ description, example });
}

/** A duration, such as 500ms. */
export function duration(description: string, example: string): z.ZodString {
  return z
    .string()
    .max(DURATION_LENGTH_MAX)
    .regex(DURATION, "must be a number and a unit out of ms, s, m, h, such as 500ms or 1.5s")
    .meta({ description: `${description} A number and a unit, such as 500ms, 10s or 5m.`, example });
}

/** A whole number within bounds that fits 32 bits. */
export function count([min, max]: readonly [min: number, max: number], description: string, example: number): z.ZodInt {
  return z.int().min(min).max(max).meta({ format: "int32", description, example });
}

/** A TCP or UDP port. */
export function port(description: string, example: number): z.ZodInt {
  return count([1, 65_535], description, example);
}

/** Labels by name. */
export function labels(
  description: string,
  example: Readonly<Record<string, string>>,
): z.ZodRecord<z.ZodString, z.ZodString> {
  return named(z.string().max(LABEL_VALUE_LENGTH_MAX).regex(LABEL_VALUE, "must be a value of a label"), {
    max: LABELS_MAX,
    description,
    example,
  });
}

/** Annotations by name, but the operator's own. */
export function annotations(
  description: string,
  example: Readonly<Record<string, string>>,
): z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>> {
  return named(text(ANNOTATION_LENGTH_MAX), { max: LABELS_MAX, description, example })
    .optional()
    .meta({ "x-kubernetes-validations": [RESERVED_ANNOTATION] });
}

/** Values by name: at most so many. The API server checks names where they are used. */
export function named<Value extends z.ZodType>(
  value: Value,
  {
    max,
    description,
    example,
  }: { readonly max: number; readonly description: string; readonly example: Readonly<Record<string, unknown>> },
): z.ZodRecord<z.ZodString, Value> {
  return z
    .record(z.string(), value)
    .refine((all) => Object.keys(all).length <= max, `must have at most ${max} entries`)
    .meta({ maxProperties: max, description, example });
}

/** Amounts of resources by name, such as cpu and memory. */
export function quantities(
  description: string,
  example: Readonly<Record<string, string>>,
): z.ZodRecord<z.ZodString, z.ZodType<string | number>> {
  return named(
    z
      .custom<string | number>(
        (value) =>
          typeof value === "number"
            ? Number.isSafeInteger(value) && value >= 0
            : typeof value === "string" && value.length <= QUANTITY_LENGTH_MAX && QUANTITY.test(value),
        "must be a quantity such as 100m, 2 or 512Mi",
      )
      .meta({
        "x-kubernetes-int-or-string": true,
        anyOf: [{ type: "integer" }, { type: "string" }],
        pattern: QUANTITY.source,
        maxLength: QUANTITY_LENGTH_MAX,
        description: "A quantity such as 100m, 2 or 512Mi.",
      }),
    { max: 16, description, example },
  );
}

/** An object whose fields the API server checks when the operator applies what is made of it. */
export function openObject(
  description: string,
  example: Readonly<Record<string, unknown>>,
): z.ZodRecord<z.ZodString, z.ZodUnknown> {
  return z
    .record(z.string(), z.unknown())
    .meta({ "x-kubernetes-preserve-unknown-fields": true, maxProperties: 32, description, example });
}
