// Turns the log lines of the programs into what a person at the terminal needs: warnings and
// errors, one line each. Everything else is in the log files. What happens to the manifests is told
// by rollout-watch.ts, from the state and not from log lines.

/**
 * Fields of a log line that say nothing to a person here: the time is in front already, the rest is
 * noise at a terminal.
 */
const HIDDEN_FIELDS: ReadonlySet<string> = new Set([
  "@timestamp",
  "@message",
  "level",
  "service",
  "pid",
  "hostname",
  "stack",
  "code",
]);

/**
 * Warnings that are right in production and say nothing new here: the page of the stack says itself
 * that it is for development.
 */
const EXPECTED_MESSAGES: ReadonlySet<string> = new Set(["Not fit for production"]);

/** Longest text of one field, in characters. */
const FIELD_MAX = 300;

/** A log line as read. */
interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The text for the person, or undefined when the line is not worth their attention. */
export function describeLogLine(line: string): string | undefined {
  const parsed = parseLogLine(line);
  if (parsed === undefined) return line.trim() === "" ? undefined : line;
  if (parsed.level !== "warning" && parsed.level !== "error") return undefined;
  if (EXPECTED_MESSAGES.has(parsed.message) || isAboutManifest(parsed)) return undefined;
  const fields = Object.entries(parsed.fields)
    .filter(([name]) => !HIDDEN_FIELDS.has(name))
    .map(([name, value]) => `${name}=${describeField(value)}`);
  return `${parsed.level}: ${parsed.message}${fields.length === 0 ? "" : ` (${fields.join(", ")})`}`;
}

// Undefined for anything that is not a log line, such as a crash report of the runtime.
function parseLogLine(line: string): LogLine | undefined {
  if (!line.startsWith("{")) return undefined;
  let value: Record<string, unknown>;
  try {
    value = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined; // A line cut short; it is shown as it is.
  }
  const { level, "@message": message } = value;
  return typeof level === "string" && typeof message === "string" ? { level, message, fields: value } : undefined;
}

// A line with a place in a file is about a manifest; rollout-watch.ts tells of it, with what that
// means for the limits.
function isAboutManifest({ fields }: LogLine): boolean {
  return typeof fields["file"] === "string" && typeof fields["line"] === "number";
}

function describeField(value: unknown): string {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > FIELD_MAX ? `${text.slice(0, FIELD_MAX)}…` : text;
}
