// Serves the files that browsers load, which the build makes.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { Request, RequestHandler, Response } from "express";
import { AccountError } from "../errors.ts";

/** A file of the build. */
export interface StaticFile {
  readonly name: string;
  readonly contentType: string;
  /** Headers in addition to those of every answer, or in their place. */
  readonly headers?: () => Readonly<Record<string, string>>;
  /** Makes what is sent to one request from what was built; no cache keeps it. Not set: what was built is sent. */
  readonly fill?: (built: string, request: Request) => string;
}

/** The type of scripts. */
export const SCRIPT_TYPE = "text/javascript; charset=utf-8";

/** The client for front ends. Those on other origins may load it, whatever isolates their pages. */
export const CLIENT_FILE: StaticFile = {
  name: "client.js",
  contentType: SCRIPT_TYPE,
  headers: () => ({ "Cross-Origin-Resource-Policy": "cross-origin" }),
};

/** A file as it was built. */
interface Content {
  readonly bytes: Buffer;
  readonly etag: string;
}

/**
 * Answers GET and HEAD of one file, which is read once. Browsers ask each time whether theirs is the newest, so that
 * the files of one page are always of one release.
 */
export function serveStatic(file: StaticFile): RequestHandler {
  let loaded: Content | undefined;
  return async (request, response) => {
    const content = (loaded ??= await readContent(file));
    if (content === undefined) throw new AccountError("not_found", "This build has no such file: run make build.");
    for (const [header, value] of Object.entries(file.headers?.() ?? {})) response.setHeader(header, value);
    const { bytes, etag } = content;
    if (file.fill !== undefined) {
      send(response, file, Buffer.from(file.fill(bytes.toString(), request)));
      return;
    }
    response.setHeader("Cache-Control", "no-cache");
    response.setHeader("ETag", etag);
    if (request.fresh) response.status(304).end();
    else send(response, file, bytes);
  };
}

function send(response: Response, { contentType }: StaticFile, bytes: Buffer): void {
  response.setHeader("Content-Type", contentType);
  response.setHeader("Content-Length", bytes.length);
  response.end(bytes);
}

/** The file; undefined: it was not built. */
async function readContent({ name }: StaticFile): Promise<Content | undefined> {
  try {
    const bytes = await readFile(createRequire(import.meta.url).resolve(`@weir/account/static/${name}`));
    return { bytes, etag: `"${createHash("sha256").update(bytes).digest("base64url")}"` };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "MODULE_NOT_FOUND" || code === "ENOENT") return undefined;
    throw error;
  }
}
