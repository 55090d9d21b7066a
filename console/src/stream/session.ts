// The session with the local server of `kubectl weir console`: the token in the URL becomes a cookie, once.

const SESSION_PATH = "/console/session";

/** Gives the token of the URL to the server, and takes it out of the URL. */
export async function openSession(): Promise<void> {
  const [, token] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (token === undefined) return;
  // Before anything else: the history must not keep it.
  history.replaceState(null, "", "#/");
  // A failure shows when the replicas are asked for.
  await fetch(SESSION_PATH, { method: "POST", body: token }).catch(() => undefined);
}
