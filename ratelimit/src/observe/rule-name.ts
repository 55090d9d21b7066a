// The name of a rule, as the control plane asks for it.

/** A rule by its domain and its path as statistics name it: `domain.key_value.key2`. */
export interface RuleName {
  readonly domain: string;
  readonly path: string;
}
