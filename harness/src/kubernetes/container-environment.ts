// The environment of a container of a pod, for tests that run it as a process of this machine.
import { join } from "node:path";

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly fieldRef?: { readonly fieldPath: string } };
}

/**
 * The variables of a container, as JSON of the API server, in their order: $(NAME) is replaced, fields
 * of the pod are read, and a path below /etc/weir is below `folder`.
 */
export function containerEnvironment(
  pod: object,
  container: { readonly env?: unknown },
  folder: string,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const { name, value = "", valueFrom } of (container.env ?? []) as readonly Variable[]) {
    const path = valueFrom?.fieldRef?.fieldPath;
    const written = path === undefined ? value : fieldAt(pod, path);
    const text = written.replaceAll(/\$\(([A-Z_]+)\)/g, (whole, other: string) => env[other] ?? whole);
    env[name] = text.startsWith("/etc/weir/") ? join(folder, text) : text;
  }
  return env;
}

function fieldAt(pod: object, path: string): string {
  let value: unknown = pod;
  for (const name of path.split(".")) value = (value as Readonly<Record<string, unknown>>)[name];
  return String(value);
}
