// The name under which the operator writes to the API server, and by which it knows what it has made.

/** The manager of the fields that the operator applies, and the value of the label below. */
export const MANAGER = "weir-operator";

/** The label of all objects that the operator makes: one without it is not its own, whatever its name. */
export const MANAGED_LABEL = "app.kubernetes.io/managed-by";
