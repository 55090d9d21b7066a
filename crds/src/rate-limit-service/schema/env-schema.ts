// The schema of the environment of a RateLimitService: every setting without a field of its own.
import * as z from "zod";

import type { CelRule } from "../../schema/cel-rules.ts";
import { flag, text } from "../../schema/fields.ts";
import { RESERVED_SETTINGS } from "../settings/reserved-settings.ts";
import { dataKey, objectName } from "./service-fields.ts";

const ENV_MAX = 128;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*$/;
const NAME_LENGTH_MAX = 128;
const VALUE_LENGTH_MAX = 8192;
const FIELD_PATH_LENGTH_MAX = 512;
const RESOURCE_LENGTH_MAX = 64;

const TWICE_MESSAGE = "must not name a variable twice";

const reference = (of: string, example: { readonly name: string; readonly key: string }) =>
  z
    .object({
      name: objectName(`Name of the ${of}, in the same namespace.`, example.name),
      key: dataKey(`Key inside the ${of}.`, example.key),
      optional: flag(`Leave the variable out when the ${of} or the key does not exist.`),
    })
    .optional()
    .meta({ description: `Key of a ${of}. The pods read it when they start only.`, example });

const valueFrom = z
  .object({
    secretKeyRef: reference("Secret", { name: "edge", key: "prefix" }),
    configMapKeyRef: reference("ConfigMap", { name: "edge", key: "prefix" }),
    fieldRef: z
      .object({
        apiVersion: z.literal("v1").optional().describe("Version of the schema that fieldPath is of."),
        fieldPath: text(FIELD_PATH_LENGTH_MAX)
          .min(1)
          .meta({ description: "Path of a field of the pod, such as status.podIP.", example: "status.podIP" }),
      })
      .optional()
      .describe("A field of the pod."),
    resourceFieldRef: z
      .object({
        resource: text(RESOURCE_LENGTH_MAX)
          .min(1)
          .meta({ description: "Resource of the container, such as limits.memory.", example: "limits.memory" }),
        divisor: text(RESOURCE_LENGTH_MAX)
          .optional()
          .meta({ description: "Unit in which it is given, such as 1Mi; 1 when absent.", example: "1Mi" }),
      })
      .optional()
      .describe("A resource of the container."),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "[has(self.secretKeyRef), has(self.configMapKeyRef), has(self.fieldRef), has(self.resourceFieldRef)].filter(each, each).size() == 1",
        message: "exactly one of secretKeyRef, configMapKeyRef, fieldRef and resourceFieldRef is required",
        isKept: (self) => Object.values(self).filter((source) => source !== undefined).length === 1,
      } satisfies CelRule<object>,
    ],
    description: "Where the value comes from.",
    example: { configMapKeyRef: { name: "edge", key: "prefix" } },
  });

const variable = z
  .object({
    name: text(NAME_LENGTH_MAX)
      .min(1, { abort: true })
      .regex(NAME, 'must consist of letters, digits and "_", and not begin with a digit')
      .meta({ description: "Name of the setting, such as LOG_LEVEL.", example: "LOG_LEVEL" }),
    value: text(VALUE_LENGTH_MAX).optional().meta({ description: "Value of the setting.", example: "info" }),
    valueFrom: valueFrom.optional(),
  })
  .meta({
    "x-kubernetes-validations": [
      {
        rule: "has(self.value) != has(self.valueFrom)",
        message: "either value or valueFrom is required, and not both",
        isKept: ({ value, valueFrom }) => (value !== undefined) !== (valueFrom !== undefined),
      } satisfies CelRule<{ value?: string; valueFrom?: object }>,
      {
        // checkEnvironment() says the same, with the field.
        rule: `!(self.name in [${RESERVED_SETTINGS.map((name) => `'${name}'`).join(", ")}])`,
        message: "the operator sets this variable from another field of spec; settings without a field are allowed",
        fieldPath: ".name",
        reason: "FieldValueForbidden",
      },
    ],
    description: "One setting.",
    example: { name: "LOG_LEVEL", value: "info" },
  });

/** The environment. */
export const envSchema = z
  .array(variable)
  .max(ENV_MAX)
  .superRefine((all, context) => {
    for (const [index, { name }] of all.entries())
      if (all.findIndex((other) => other.name === name) < index)
        context.addIssue({ code: "custom", path: [index, "name"], input: name, message: TWICE_MESSAGE });
  })
  .optional()
  .meta({
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    description:
      "Settings of the data plane without a field of their own, such as LOG_LEVEL, CACHE_KEY_PREFIX or WORKERS. A name that the operator's own release does not know is " +
      "refused, or warned of when image is set. Names that the operator sets are refused.",
  });
