// Forms: inputs with their errors next to them, one submission at a time, and its result.
import { CallError } from "../client/account-client.ts";
import { AvatarInput } from "./avatar-input.ts";
import { button, h } from "./element.ts";

/** An input. Its name is that of the field in the API. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly type: "email" | "password" | "text" | "avatar";
  /** For password managers. */
  readonly autocomplete?: string;
  readonly hint?: string;
  readonly value?: string;
  readonly isOptional?: boolean;
  /** Of an avatar: the largest that is taken. */
  readonly maxBytes?: number;
}

/** The input of the user: texts, and `avatar` as a file. */
export interface Entered {
  /** The text of an input; empty when there is no such input. */
  readonly text: (name: string) => string;
  readonly avatar: Blob | undefined;
  /** Aborted when the user cancels. */
  readonly signal: AbortSignal;
  /** Shows how much of an upload is sent. */
  readonly onProgress: (share: number) => void;
}

/** A form. */
export interface FormOptions {
  /** Unique in the page. */
  readonly id: string;
  readonly fields: readonly Field[];
  readonly submit: string;
  readonly isDangerous?: boolean;
  /** The address of the account, which password managers look for in forms without its input. */
  readonly username?: string;
  /** Does it; resolves with a sentence for the user. */
  readonly onSubmit: (entered: Entered) => Promise<string>;
}

/** Makes a form. */
export function form(options: FormOptions): HTMLFormElement {
  const inputs = options.fields.map((field) => new Input(options.id, field));
  const submit = h("button", { class: options.isDangerous === true ? "danger" : "primary" }, options.submit);
  const result = h("p", { class: "result" });
  const announced = h("div", { "aria-live": "polite" }, result);
  const username = options.username;
  const element = h(
    "form",
    { id: options.id, method: "post", novalidate: true },
    username === undefined
      ? undefined
      : h("input", { type: "text", autocomplete: "username", value: username, hidden: true, readonly: true }),
    ...inputs.map((input) => input.element),
    announced,
    h("div", { class: "actions" }, submit),
  );
  let running: AbortController | undefined;
  const run = async (): Promise<void> => {
    running = new AbortController();
    submit.setAttribute("aria-disabled", "true");
    const progress = new Progress(submit, running);
    const { signal } = running;
    try {
      const text = await options.onSubmit({
        text: (name) => inputs.find((input) => input.name === name)?.text ?? "",
        avatar: inputs.map((input) => input.avatar).find((avatar) => avatar !== undefined),
        ...{ signal, onProgress: progress.show },
      });
      for (const input of inputs) input.forget();
      result.className = "result good";
      result.textContent = text;
    } catch (error) {
      result.className = "result bad";
      result.textContent = signal.aborted ? "Cancelled." : showErrors(error, inputs);
    } finally {
      progress.end();
      submit.removeAttribute("aria-disabled");
      running = undefined;
    }
  };
  element.addEventListener("input", () => (result.textContent = "")); // It is about what was entered before.
  element.addEventListener("submit", (event) => {
    event.preventDefault();
    if (running !== undefined) return;
    result.textContent = "";
    for (const input of inputs) input.check();
    if (!focusFirst(inputs)) void run();
  });
  return element;
}

/** A sentence for a call that failed. */
export function describeFailure(error: unknown): string {
  if (error instanceof CallError) {
    const { message, retryAfterSeconds } = error;
    return retryAfterSeconds === undefined || /\d+ s/.test(message)
      ? message
      : `${message} Try again in ${retryAfterSeconds} s.`;
  }
  if (!(error instanceof TypeError)) reportError(error); // No fault of the network.
  return "The service cannot be reached. Check your connection and try again.";
}

/** Shows errors next to their inputs, and returns a sentence for the rest. */
function showErrors(error: unknown, inputs: readonly Input[]): string {
  if (!(error instanceof CallError)) return describeFailure(error);
  const others = error.errors.filter(({ field, message }) => {
    const input = inputs.find(({ name }) => name === field);
    input?.refuse(message);
    return input === undefined;
  });
  const isShown = focusFirst(inputs);
  if (others.length > 0) return others.map(({ message }) => message).join(" ");
  return isShown ? "" : describeFailure(error);
}

/** Focuses the first input with an error; false when none has one. */
function focusFirst(inputs: readonly Input[]): boolean {
  const first = inputs.find(({ isRefused }) => isRefused);
  first?.focus();
  return first !== undefined;
}

/** An input with its label, hint and error. */
class Input {
  readonly name: string;
  readonly element: HTMLElement;
  readonly #field: Field;
  readonly #input: HTMLInputElement;
  readonly #error: HTMLElement;
  readonly #avatar: AvatarInput | undefined;

  constructor(formId: string, field: Field) {
    const { name, label, type, autocomplete, hint, value, isOptional = false } = field;
    const id = `${formId}-${name}`;
    this.name = name;
    this.#field = field;
    this.#error = h("p", { id: `${id}-error`, class: "error" });
    const described = hint === undefined ? `${id}-error` : `${id}-hint ${id}-error`;
    this.#input = h("input", {
      ...{ id, name, value, autocomplete, "aria-describedby": described },
      ...(type === "avatar" ? { type: "file", accept: "image/png,image/jpeg,image/webp" } : { type }),
      ...(type === "email" && { inputmode: "email", spellcheck: "false", autocapitalize: "none" }),
      ...(!isOptional && { required: true }),
    });
    const isAvatar = type === "avatar";
    this.#avatar = isAvatar ? new AvatarInput(this.#input) : undefined;
    this.#input.addEventListener("input", () => this.#accept());
    const isShownOptional = isOptional && !isAvatar;
    this.element = h(
      "div",
      { class: "field" },
      h("label", { for: id }, label, isShownOptional ? h("span", { class: "quiet" }, " (optional)") : undefined),
      this.#avatar?.element ?? (type === "password" ? withReveal(this.#input, label) : this.#input),
      hint === undefined ? undefined : h("p", { id: `${id}-hint`, class: "hint" }, hint),
      this.#error,
    );
  }

  get text(): string {
    return this.#input.value;
  }

  get avatar(): Blob | undefined {
    return this.#avatar?.file;
  }

  get isRefused(): boolean {
    return this.#input.hasAttribute("aria-invalid");
  }

  focus(): void {
    this.#input.focus();
  }

  /** Looks for what the service would refuse without a doubt. */
  check(): void {
    this.#accept();
    const { label, maxBytes = Infinity } = this.#field;
    if (this.#input.validity.valueMissing) this.refuse(`${label} is missing.`);
    else if ((this.avatar?.size ?? 0) > maxBytes)
      this.refuse(`The image has more than ${(maxBytes / 1_048_576).toFixed(1)} MiB. Choose a smaller one.`);
  }

  /** Empties it when it is for one use only: passwords and files. */
  forget(): void {
    if (this.#field.type === "password") this.#input.value = "";
    this.#avatar?.clear();
  }

  refuse(message: string): void {
    this.#input.setAttribute("aria-invalid", "true");
    this.#error.textContent = message;
  }

  #accept(): void {
    this.#input.removeAttribute("aria-invalid");
    this.#error.textContent = "";
  }
}

/** A password with a button that shows it. */
function withReveal(input: HTMLInputElement, label: string): HTMLElement {
  const reveal = button(
    "",
    () => {
      const isShown = input.type === "text";
      input.type = isShown ? "password" : "text";
      name(isShown ? "Show" : "Hide");
    },
    { class: "reveal" },
  );
  // Users of speech input say the text of the button: its whole name begins with it (WCAG 2.2, 2.5.3).
  const name = (action: string): void => {
    reveal.textContent = action;
    reveal.setAttribute("aria-label", `${action} ${label.toLowerCase()}`);
  };
  name("Show");
  return h("div", { class: "secret" }, input, reveal);
}

/** The progress of an upload, next to the button that began it, once something is sent. */
class Progress {
  readonly #bar = h("progress", { max: 1, value: 0, "aria-label": "Upload" });
  readonly #text = h("span", { class: "quiet" });
  readonly #element: HTMLElement;
  readonly #submit: HTMLElement;
  readonly #cancel: HTMLElement;

  constructor(submit: HTMLElement, running: AbortController) {
    this.#submit = submit;
    this.#cancel = button("Cancel", () => running.abort());
    this.#element = h("div", { class: "progress" }, this.#bar, this.#text, this.#cancel);
  }

  readonly show = (share: number): void => {
    if (!this.#element.isConnected) this.#submit.after(this.#element);
    this.#bar.value = share;
    this.#text.textContent = share < 1 ? `${Math.floor(share * 100)} %` : "Checking the image…";
    // From here on the service does it, whether this page waits for the answer or not.
    this.#withFocus(() => (this.#cancel.hidden = share === 1));
  };

  readonly end = (): void => this.#withFocus(() => this.#element.remove());

  /** Hides something of the progress; the focus that was in it stays in the form. */
  #withFocus(hide: () => void): void {
    const hadFocus = this.#element.contains(document.activeElement);
    hide();
    if (hadFocus && !this.#element.contains(document.activeElement)) this.#submit.focus();
  }
}
