// The sessions of a user: each browser or device in which the user is signed in.
import { CallError } from "../client/account-client.ts";
import type { Session } from "../client/generated/calls.ts";
import { button, h } from "./element.ts";
import { describeFailure } from "./form.ts";
import type { Page } from "./page.ts";

/** Browsers and systems, by what their User-Agent has; of those that match, the first. */
const BROWSERS: readonly (readonly [RegExp, string])[] = [
  [/Edg\//, "Edge"],
  [/OPR\//, "Opera"],
  [/Firefox\//, "Firefox"],
  [/Chrome\/|CriOS/, "Chrome"],
  [/Safari\//, "Safari"],
  [/curl/, "curl"],
];
const SYSTEMS: readonly (readonly [RegExp, string])[] = [
  [/Android/, "Android"],
  [/iPhone|iPad/, "iOS"],
  [/Windows/, "Windows"],
  [/Mac OS/, "macOS"],
  [/Linux|X11/, "Linux"],
];

/** The list, and a function that loads it again; `ended` is called when the session of this browser has ended. */
export function sessionsSection(
  page: Page,
  ended: (message: string) => void,
): { readonly element: HTMLElement; readonly reload: () => void } {
  const list = h("ul", { class: "sessions" });
  const result = h("p", { class: "result" });
  const heading = h("h2", { id: "sessions", tabindex: "-1" }, "Sessions");
  const failed = (error: unknown): void => {
    result.className = "result bad";
    result.textContent = describeFailure(error);
  };
  const load = async (): Promise<void> => {
    const { sessions } = await page.client.listSessions();
    list.replaceChildren(...sessions.map((session) => entryOf(session, () => void end(session))));
  };
  const end = async (session: Session): Promise<void> => {
    try {
      const { message } = await page.client.revokeSession({ id: session.id });
      if (session.current) {
        ended(message);
        return;
      }
      await load();
      heading.focus(); // The button that had it is gone.
      result.className = "result good";
      result.textContent = message;
    } catch (error) {
      failed(error);
      if (error instanceof CallError && error.status === 404) await load().catch(failed); // It has ended meanwhile.
    }
  };
  const everywhere = button("Sign out everywhere", () => {
    void page.client.logoutEverywhere().then(({ message }) => ended(message), failed);
  });
  const reload = (): void => void load().catch(failed);
  reload();
  const element = h(
    "section",
    { "aria-labelledby": "sessions" },
    heading,
    list,
    h("div", { "aria-live": "polite" }, result),
    h("div", { class: "actions" }, everywhere),
  );
  return { element, reload };
}

function entryOf(session: Session, end: () => void): HTMLElement {
  const { current, createdAt, lastUsedAt, network } = session;
  const device = deviceOf(session.userAgent);
  return h(
    "li",
    {},
    h(
      "div",
      {},
      h("strong", {}, device),
      current ? h("span", { class: "badge good" }, "this browser") : undefined,
      h("span", { class: "quiet" }, `${network} · signed in ${time(createdAt)} · last used ${time(lastUsedAt)}`),
    ),
    button("Sign out", end, { "aria-label": `Sign out ${device}, ${network}, last used ${time(lastUsedAt)}` }),
  );
}

function deviceOf(userAgent: string): string {
  const [browser, system] = [BROWSERS, SYSTEMS].map((table) => table.find(([pattern]) => pattern.test(userAgent))?.[1]);
  const known = [browser, system].filter((each) => each !== undefined).join(" on ");
  return known === "" ? userAgent || "Unknown browser" : known;
}

function time(iso: string): string {
  return new Date(iso).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
}
