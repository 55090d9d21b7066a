// Forms for tests, without a manifest behind them. Only tests import it.
import { digestOf, type Form } from "./form.ts";

/** The fields in which forms of tests differ. */
export interface FormText {
  /** `<namespace>/<name>`; the namespace is `default` unless the name has one. */
  readonly name: string;
  /** The content; forms with the same content have the same digest. */
  readonly content?: number | string;
  readonly identity?: string;
  readonly createdMs?: number;
  readonly sizeBytes?: number;
  readonly sequence?: number;
}

let sequence = 0;

/** A form; each one is newer than those before. */
export function formOf({ name, content = 1, identity = "one", createdMs = 0, sizeBytes, ...rest }: FormText): Form {
  const key = name.includes("/") ? name : `default/${name}`;
  const text = `${key}=${content}`;
  const bytes = Buffer.alloc(sizeBytes ?? text.length, text);
  sequence += 1;
  const namespace = key.slice(0, key.indexOf("/"));
  return { name: key, namespace, identity, createdMs, domain: key, bytes, digest: digestOf(text), sequence, ...rest };
}

/** The contents of forms: `<namespace>/<name>=<content>`. */
export function contentsOf(forms: readonly Form[]): readonly string[] {
  return forms.map(({ bytes }) => bytes.toString());
}
