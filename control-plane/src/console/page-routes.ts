// The page of the console: files that the build makes, and the list of replicas behind this listener.
import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { ServerResponse } from "node:http";

import { type AdminRoute, respondJson, respondText } from "@weir/common/admin/admin-server";
import { PAGE_HEADERS } from "@weir/common/admin/page-headers";

/** The files, by their paths here. */
const FILES = {
  "/": { file: "index.html", contentType: "text/html; charset=utf-8" },
  "/console/console.js": { file: "console.js", contentType: "text/javascript; charset=utf-8" },
  "/console/console.css": { file: "console.css", contentType: "text/css; charset=utf-8" },
  "/console/icon.svg": { file: "icon.svg", contentType: "image/svg+xml" },
} as const;

/** The routes. */
export function pageRoutes(): readonly AdminRoute[] {
  const files = Object.entries(FILES).map(([path, { file, contentType }]) => ({
    path,
    help: path === "/" ? "the page of the console" : "a file of the page",
    handle: async (_request: unknown, response: ServerResponse) => {
      const content = await readPageFile(file);
      if (content === undefined) {
        respondText(response, 404, "this build has no page: run make build\n");
        return;
      }
      response.writeHead(200, { ...PAGE_HEADERS, "Content-Type": contentType, "Content-Length": content.length });
      response.end(content);
    },
  }));
  return [
    ...files,
    {
      path: "/console/replicas",
      help: "where the page finds the APIs of replicas: paths before those of the APIs",
      handle: (_request, response) => {
        response.setHeader("Cache-Control", "no-store");
        respondJson(response, 200, [""]);
      },
    },
  ];
}

/** The file; undefined: it was not built. */
async function readPageFile(file: string): Promise<Buffer | undefined> {
  try {
    return await readFile(createRequire(import.meta.url).resolve(`@weir/console/page/${file}`));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "MODULE_NOT_FOUND" || code === "ENOENT") return undefined;
    throw error;
  }
}
