// Serves the images of the local media store. Type and headers come from the store, so that no
// browser runs an uploaded file.
import { pipeline } from "node:stream/promises";
import { errorCode } from "@weir/common/errors/error-code";
import type { RequestHandler, Response } from "express";
import { AccountError } from "../errors.ts";
import type { LocalMediaStore } from "../media/local/local-media-store.ts";

/** Path under which images are served. */
export const MEDIA_PATH = "/media/";

/** Longest time in which a client takes nothing of an answer, in milliseconds. */
const STALL_MAX_MS = 30_000;

/** Errors of an answer whose connection is closed. */
const CLOSED = ["ERR_STREAM_PREMATURE_CLOSE", "ERR_STREAM_UNABLE_TO_PIPE", "ERR_STREAM_DESTROYED"];

/**
 * Answers GET and HEAD of one image. Closes the connection of a client that takes nothing of the
 * answer for `stallMaxMs`.
 */
export function serveMedia(media: LocalMediaStore, stallMaxMs = STALL_MAX_MS): RequestHandler {
  return async (request, response) => {
    await turnOf(response);
    // The key's shape decides; nothing is decoded or normalised, so nothing can climb out of the
    // folder.
    const key = request.originalUrl.includes("?") ? "" : request.path.slice(MEDIA_PATH.length);
    const image = await media.open(key);
    if (image === undefined) throw new AccountError("not_found", "There is no such image.");
    try {
      response.setHeader("Content-Type", image.headers.contentType);
      response.setHeader("Content-Length", image.sizeBytes);
      response.setHeader("Content-Disposition", image.headers.contentDisposition);
      response.setHeader(
        "Content-Security-Policy",
        "default-src 'none'; base-uri 'none'; frame-ancestors 'none'; sandbox",
      );
      response.setHeader("Cross-Origin-Resource-Policy", "cross-origin"); // Front ends on other origins show avatars.
      response.setHeader("Cache-Control", image.headers.cacheControl);
      if (request.method === "HEAD") {
        response.end();
        return;
      }
      response.setTimeout(stallMaxMs, () => response.destroy());
      await pipeline(image.file.createReadStream({ autoClose: false }), response);
    } catch (error) {
      if (!CLOSED.includes(errorCode(error) ?? "")) throw error; // Clients may go.
    } finally {
      await image.file.close();
    }
  };
}

/** Resolves when the earlier requests of the connection are answered: a waiting one holds no file. */
function turnOf(response: Response): Promise<void> {
  if (response.socket !== null) return Promise.resolve();
  return new Promise((resolve) => response.once("socket", () => resolve()));
}
