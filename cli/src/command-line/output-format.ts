// The flag --output of commands that print for people or as JSON. Pure.

/** The format of a command's output. */
export type OutputFormat = "text" | "json";

/** The format in the value of --output, by default text; or the problem with the value. */
export function readOutputFormat(value = "text"): { readonly format: OutputFormat } | { readonly wrong: string } {
  if (value === "text" || value === "json") return { format: value };
  return { wrong: `the output must be text or json, is ${JSON.stringify(value)}` };
}
