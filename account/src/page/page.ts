// The frame of all views: the client, the facts about the service, and the place where a view appears.
import { type AccountClient, createAccountClient } from "../client/account-client.ts";
import type { User } from "../client/generated/calls.ts";
import { h } from "./element.ts";
import { type ProgressListener, Uploads } from "./upload.ts";

/** Facts about the service that the page needs; the service writes them into the document. */
export interface ServiceFacts {
  readonly mail: boolean;
  readonly avatarRequired: boolean;
  readonly avatarMaxBytes: number;
  readonly passwordMinLength: number;
  /** False: the browser has no session, and no call needs to ask for it. An earlier replica does not say it. */
  readonly mayHaveSession?: boolean;
}

/** A view: its title, and its content. */
export interface View {
  readonly title: string;
  /** A sentence about what has just happened. */
  readonly note?: string | undefined;
  readonly content: readonly Node[];
  /** It needs the width of a page, and not of a card. */
  readonly isWide?: boolean;
}

/** How long the page says something that is over, in milliseconds: three times what reading the longest text takes. */
const SAID_MS = 15_000;

/** The page. */
export class Page {
  readonly client: AccountClient;
  readonly facts: ServiceFacts;
  user: User | undefined;
  readonly #uploads = new Uploads();
  readonly #main = h("main");
  readonly #status = h("p", { class: "status", role: "status" });
  #isFirst = true;
  /** The status is about a wait. */
  #isWaiting = false;
  #silence: number | undefined;

  constructor(root: HTMLElement, onSignedOut: () => void) {
    const written = document.querySelector<HTMLMetaElement>('meta[name="service"]')?.content ?? "{}";
    this.facts = JSON.parse(written) as ServiceFacts;
    this.client = createAccountClient({
      fetch: async (url, init) => {
        try {
          return await this.#uploads.fetch(url, init);
        } finally {
          if (this.#isWaiting) this.say("");
          this.#isWaiting = false;
        }
      },
      onSignedOut,
      onWait: (seconds) => {
        this.#isWaiting = true;
        this.say(`The service is busy. Trying again in ${seconds} s…`, { stays: true });
      },
    });
    root.replaceChildren(this.#main, this.#status);
    addEventListener("offline", () => this.say("You are offline.", { stays: true }));
    addEventListener("online", () => this.say("You are online again."));
  }

  /**
   * Shows a view, and moves the focus to its heading unless the page has just been opened. Screen readers read the
   * note with the heading.
   */
  show({ title, note, content, isWide = false }: View): void {
    const notes = note === undefined ? [] : [h("p", { id: "note", class: "note" }, note)];
    const heading = h("h1", { tabindex: "-1", "aria-describedby": notes[0]?.id }, title);
    document.title = title;
    this.#main.className = isWide ? "wide" : "card";
    this.#main.replaceChildren(heading, ...notes, ...content);
    if (!this.#isFirst) heading.focus();
    this.#isFirst = false;
  }

  /** Says something at the edge of the page, also to screen readers, for a while unless it stays; "" takes it back. */
  say(text: string, { stays = false } = {}): void {
    clearTimeout(this.#silence);
    this.#status.textContent = text;
    if (text !== "" && !stays) this.#silence = setTimeout(() => this.say(""), SAID_MS);
  }

  /** Runs a call whose uploads report their progress to `onProgress`. */
  async upload<T>(onProgress: ProgressListener, call: () => Promise<T>): Promise<T> {
    this.#uploads.onProgress = onProgress;
    try {
      return await call();
    } finally {
      this.#uploads.onProgress = undefined;
    }
  }
}
