// What all views share: the client, the facts about the service, and the place where a view appears.
import { type AccountClient, createAccountClient } from "../client/account-client.ts";
import type { User } from "../client/generated/calls.ts";
import { h } from "./element.ts";
import { type ProgressListener, Uploads } from "./upload.ts";

/** What the page must know of the service; the service writes it into the document. */
export interface ServiceFacts {
  readonly mail: boolean;
  readonly avatarRequired: boolean;
  readonly avatarMaxBytes: number;
  readonly passwordMinLength: number;
  /** False: the browser has no session, and no call needs to ask for it. */
  readonly mayHaveSession: boolean;
}

/** A view: its title, and what it shows. */
export interface View {
  readonly title: string;
  readonly content: readonly Node[];
  /** Whether it needs the width of a page, and not of a card. */
  readonly isWide?: boolean;
}

/** The page. */
export class Page {
  readonly client: AccountClient;
  readonly facts: ServiceFacts;
  user: User | undefined;
  readonly #uploads = new Uploads();
  readonly #main = h("main");
  readonly #status = h("p", { class: "status", role: "status" });
  #isFirst = true;
  /** Whether the status is about a wait. */
  #isWaiting = false;

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
        this.say(`The service is busy. Trying again in ${seconds} s…`);
      },
    });
    root.replaceChildren(this.#main, this.#status);
    addEventListener("offline", () => this.say("You are offline."));
    addEventListener("online", () => this.say("You are online again."));
  }

  /** Shows a view, and moves the focus to its heading unless the page has just been opened. */
  show({ title, content, isWide = false }: View): void {
    const heading = h("h1", { tabindex: "-1" }, title);
    document.title = title;
    this.#main.className = isWide ? "wide" : "card";
    this.#main.replaceChildren(heading, ...content);
    if (!this.#isFirst) heading.focus();
    this.#isFirst = false;
  }

  /** Says something at the edge of the page, also to screen readers; an empty text takes it back. */
  say(text: string): void {
    this.#status.textContent = text;
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
