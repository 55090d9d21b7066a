// Turns the log lines of the programs into lines for the terminal: warnings and errors, one line
// each. Changes of manifests are reported by rollout-watch.ts, from the control plane's status.
import { cutText } from "@weir/common/text/cut-text";

/** Fields that are left out: the line shows the time, level and message already. */
const HIDDEN_FIELDS = new Set(["@timestamp", "@message", "level", "service", "pid", "hostname", "stack", "code"]);

/** Warnings that are left out: the guide of the stack says that it is for development. */
const EXPECTED_MESSAGES: ReadonlySet<string> = new Set(["Not fit for production"]);

/** Longest text of one field. */
const FIELD_MAX_BYTES = 303;

/** A log line as read. */
interface LogLine {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** The text to print, or undefined for a line that is only in the log file. */
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

// A line with a file and a line number is about a manifest, which rollout-watch.ts reports with the
// effect on its limits.
function isAboutManifest({ fields }: LogLine): boolean {
  return typeof fields["file"] === "string" && typeof fields["line"] === "number";
}

function describeField(value: unknown): string {
  return cutText(typeof value === "string" ? value : JSON.stringify(value), FIELD_MAX_BYTES);
}
