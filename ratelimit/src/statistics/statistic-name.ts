// Cleans the parts of a statistic name that come from configuration or requests. Sinks also escape
// for their own format.

/** Separators of the StatsD format, and control characters; each becomes an underscore. */
// eslint-disable-next-line no-control-regex -- control characters are what it looks for
const UNSAFE = /[:|\u0000-\u001f\u007f]/g;

/** Looks like an IPv4 address; its dots would count as levels of the name. */
const IPV4 = /(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/g;

/** The text for use in a statistic name; other dots, slashes, `*` and spaces stay. */
export function cleanNamePart(text: string): string {
  return text.replace(UNSAFE, "_").replace(IPV4, "$1_$2_$3_$4");
}
