// The flag --output of commands that print for people or as JSON. Pure.

/** How a command prints what it found. */
export type OutputFormat = "text" | "json";

/**
 * The format that the value of --output asks for, text without one; or what is wrong with the
 * value.
 */
export function readOutputFormat(value = "text"): { readonly format: OutputFormat } | { readonly wrong: string } {
  if (value === "text" || value === "json") return { format: value };
  return { wrong: `the output must be text or json, is ${JSON.stringify(value)}` };
}
