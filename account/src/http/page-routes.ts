// The page of the service: its files, and the facts that it needs.
import { contentSecurityPolicy } from "@weir/common/admin/page-headers";
import type { Request, RequestHandler } from "express";
import type { CookieOptions } from "../sessions/cookies.ts";
import { mayHaveSession } from "./call-cookies.ts";
import { SCRIPT_TYPE, serveStatic, type StaticFile } from "./static-route.ts";

/** The place of the facts in the document. */
const FACTS_PLACE = 'name="service" content="{}"';

/** Facts about the service that the page needs. */
export interface PageFacts {
  /** The calls that need mail are served. */
  readonly mail: boolean;
  readonly avatarRequired: boolean;
  readonly avatarMaxBytes: number;
  readonly passwordMinLength: number;
  /** The origin of avatars. */
  readonly imageOrigin: () => string;
}

/** The paths of the page, and what answers each. */
export function pageRoutes(
  { imageOrigin, ...facts }: PageFacts,
  cookies: CookieOptions,
): readonly (readonly [string, RequestHandler])[] {
  // Previews of images that are not sent yet have URLs of their own kind.
  const headers = (): Readonly<Record<string, string>> => ({
    "Content-Security-Policy": contentSecurityPolicy(["blob:", imageOrigin()]),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
  });
  const fill = (document: string, request: Request): string => {
    if (!document.includes(FACTS_PLACE)) throw new Error(`Cannot write the page: it lacks ${FACTS_PLACE}`);
    const all = { ...facts, mayHaveSession: mayHaveSession(request, cookies) };
    const written = JSON.stringify(all).replaceAll('"', "&quot;"); // Numbers and booleans only.
    return document.replace(FACTS_PLACE, () => FACTS_PLACE.replace("{}", () => written));
  };
  const files: Readonly<Record<string, StaticFile>> = {
    "/": { name: "index.html", contentType: "text/html; charset=utf-8", fill },
    "/page/page.js": { name: "page.js", contentType: SCRIPT_TYPE },
    "/page/page.css": { name: "page.css", contentType: "text/css; charset=utf-8" },
    "/page/icon.svg": { name: "icon.svg", contentType: "image/svg+xml" },
  };
  return Object.entries(files).map(([path, file]) => [path, serveStatic({ ...file, headers })]);
}
