// Serves the images of the local media store. Type and headers come from the store, so that no
// browser runs an uploaded file.
import type { RequestHandler } from "express";
import { AccountError } from "../errors.ts";
import type { LocalMediaStore } from "../media/local/local-media-store.ts";

/** Path under which images are served. */
export const MEDIA_PATH = "/media/";

/** Answers GET and HEAD of one image. */
export function serveMedia(media: LocalMediaStore): RequestHandler {
  return async (request, response) => {
    // The key's shape decides; nothing is decoded or normalised, so nothing can climb out of the
    // folder.
    const image = await media.read(request.path.slice(MEDIA_PATH.length));
    if (image === undefined || request.originalUrl.includes("?"))
      throw new AccountError("not_found", "There is no such image.");
    response.setHeader("Content-Type", image.headers.contentType);
    response.setHeader("Content-Length", image.bytes.length);
    response.setHeader("Content-Disposition", image.headers.contentDisposition);
    response.setHeader("Content-Security-Policy", "default-src 'none'; sandbox");
    response.setHeader("Cross-Origin-Resource-Policy", "cross-origin"); // Front ends on other origins show avatars.
    response.setHeader("Cache-Control", image.headers.cacheControl);
    response.end(request.method === "HEAD" ? undefined : image.bytes);
  };
}
