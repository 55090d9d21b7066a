// Writes the bill of materials (CycloneDX 1.6) of the images from package-lock.json. `npm sbom` refuses a tree
// with an optional peer of another version, and its serial number and time are new at each run.
import { createHash } from "node:crypto";
import { findClosure, type LockedPackage, type LockedPackages, packageName } from "../images/closure.ts";
import { type Image, IMAGES } from "../images/images.ts";

/** The release that the bill describes. */
export interface BillSubject {
  readonly version: string;
  /** Time of the commit, in seconds since the epoch. */
  readonly timestampSeconds: number;
  readonly commit: string;
}

/** A package in the format's words. */
interface Component {
  readonly type: "library" | "platform";
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses?: readonly { readonly expression: string }[];
  readonly hashes?: readonly { readonly alg: string; readonly content: string }[];
  readonly properties: readonly { readonly name: string; readonly value: string }[];
}

/** Folder of the package with the Node.js that runs the programs; every image has it. */
const NODE_FOLDER = "node_modules/node";

/** Licenses that a package's own manifest gives in a form that package-lock.json leaves out. */
const OLD_FORM_LICENSES: Readonly<Record<string, string>> = { busboy: "MIT", streamsearch: "MIT" };

/** Says which images carry a component. */
const IMAGE_PROPERTY = "weir:image";

/** The bill as JSON. Its serial number is derived from its content. */
export function billOfMaterials(
  locked: LockedPackages,
  subject: BillSubject,
  images: readonly Image[] = IMAGES,
): string {
  const usedBy = new Map<string, string[]>([[NODE_FOLDER, images.map(({ name }) => name)]]);
  for (const { name, workspaces } of images)
    for (const folder of findClosure(locked, workspaces).packages)
      usedBy.set(folder, [...(usedBy.get(folder) ?? []), name]);
  const byRef = new Map<string, Component>();
  for (const [folder, users] of usedBy) {
    const component = toComponent(folder, locked[folder] ?? {}, users);
    const other = byRef.get(component["bom-ref"]); // The same version in two folders.
    byRef.set(component["bom-ref"], other === undefined ? component : merge(component, other));
  }
  const components = [...byRef.values()].toSorted((one, other) => (one["bom-ref"] < other["bom-ref"] ? -1 : 1));
  const main = `pkg:github/weir-dev/weir@${subject.version}`;
  const content = {
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      timestamp: new Date(subject.timestampSeconds * 1000).toISOString(),
      component: {
        type: "application",
        "bom-ref": main,
        name: "weir",
        version: subject.version,
        purl: main,
        licenses: [{ expression: "Apache-2.0" }],
        properties: [{ name: "weir:commit", value: subject.commit }],
      },
    },
    components,
    dependencies: [{ ref: main, dependsOn: components.map((component) => component["bom-ref"]) }],
  };
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify(content))}`;
  return `${JSON.stringify({ $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", serialNumber, ...content }, undefined, 2)}\n`;
}

function toComponent(folder: string, entry: LockedPackage, images: readonly string[]): Component {
  const name = packageName(folder);
  const version = entry.version ?? "";
  const purl = `pkg:npm/${name.replace("@", "%40")}@${version}`;
  const license = entry.license ?? OLD_FORM_LICENSES[name];
  const [, hash] = /^sha512-(\S+)/.exec(entry.integrity ?? "") ?? [];
  return {
    type: folder === NODE_FOLDER ? "platform" : "library",
    "bom-ref": purl,
    name,
    version,
    purl,
    ...(license === undefined ? {} : { licenses: [{ expression: license }] }),
    ...(hash === undefined
      ? {}
      : { hashes: [{ alg: "SHA-512", content: Buffer.from(hash, "base64").toString("hex") }] }),
    properties: images.toSorted().map((value) => ({ name: IMAGE_PROPERTY, value })),
  };
}

function merge(one: Component, other: Component): Component {
  const images = new Set([...one.properties, ...other.properties].map(({ value }) => value));
  return { ...one, properties: [...images].toSorted().map((value) => ({ name: IMAGE_PROPERTY, value })) };
}

/** A UUID of version 8 (custom content, RFC 9562) from the hash of `text`. */
function uuidOf(text: string): string {
  const bytes = createHash("sha256").update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x80;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString("hex").replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
