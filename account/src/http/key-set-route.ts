// Serves the public keys of access tokens.
import type { RequestHandler } from "express";
import type { Log } from "@weir/common/log/log";
import type { KeyRing } from "../sessions/key-ring.ts";
import { publicKeySet } from "../sessions/key-set.ts";
import { sendJson } from "./answer.ts";

/** How long a reader may keep the keys, in seconds; docs/account.md names it for changes of keys. */
const MAX_AGE_SECONDS = 300;

/** Answers with the keys of the moment. The first reader of an empty set causes a warning. */
export function serveKeySet(accessKeys: () => KeyRing, log: Log): RequestHandler {
  let isWarned = false;
  return (_request, response) => {
    const set = publicKeySet(accessKeys());
    if (set.keys.length === 0 && !isWarned) {
      isWarned = true;
      log.warn("The key set is empty, as access tokens are signed with a secret: only this service can verify them", {
        settings: "ACCESS_TOKEN_SECRET, TOKEN_KEYS_FILE",
      });
    }
    response.setHeader("Cache-Control", `public, max-age=${MAX_AGE_SECONDS}`);
    sendJson(response, 200, set);
  };
}
