// What the schema of the CRD says of fields that need each other: CEL rules with messages of their
// own where the API server's budget allows them, plain schema words elsewhere. The same rules for
// the TypeScript side stand in schema.ts and in the validator of @weir/proto.

/** A limit of the first level: rules in CEL, so that the refusal says what to do. */
export const LIMIT_VALIDATIONS = {
  "x-kubernetes-validations": [
    {
      rule: "has(self.unit) || (has(self.unlimited) && self.unlimited)",
      message: "unit is required, unless unlimited is true",
      reason: "FieldValueRequired",
      fieldPath: ".unit",
    },
    {
      rule: "has(self.requestsPerUnit) || (has(self.unlimited) && self.unlimited)",
      message: "requestsPerUnit is required, unless unlimited is true; 0 rejects every request",
      reason: "FieldValueRequired",
      fieldPath: ".requestsPerUnit",
    },
    {
      rule: "!has(self.unit) || !has(self.unlimited) || !self.unlimited",
      message: "should not specify rate limit unit when unlimited",
      reason: "FieldValueForbidden",
      fieldPath: ".unit",
    },
    {
      rule: "!has(self.name) || !has(self.replaces) || self.replaces.all(replaced, replaced.name != self.name)",
      message: "replaces should not contain name of same descriptor",
      fieldPath: ".replaces",
    },
  ],
} as const;

/**
 * A limit of a deeper level: either counted or unlimited. The API server names the missing fields
 * by itself.
 */
export const LIMIT_ALTERNATIVES = {
  anyOf: [
    { required: ["unit", "requestsPerUnit"], properties: { unlimited: { enum: [false] } } },
    { required: ["unlimited"], properties: { unlimited: { enum: [true] } }, not: { required: ["unit"] } },
  ],
} as const;

/** A rule of the first level. */
export const DESCRIPTOR_VALIDATIONS = {
  "x-kubernetes-validations": [
    {
      rule: "!has(self.shareThreshold) || !self.shareThreshold || self.key.contains('*') || (has(self.value) && self.value.contains('*'))",
      message: "shareThreshold can only be used with wildcard values (containing '*')",
      fieldPath: ".shareThreshold",
    },
  ],
} as const;
