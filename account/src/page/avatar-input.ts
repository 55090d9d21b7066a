// The input of an avatar, with a preview of the chosen image.
import { button, h } from "./element.ts";

/** Shows the image at `url`, or the first letter of `name` in its place. */
export function avatarImage(url: string | null, name: string): HTMLElement {
  if (url === null) return h("span", { class: "avatar", "aria-hidden": "true" }, initialOf(name));
  return h("img", { class: "avatar", src: url, alt: "", width: 64, height: 64 });
}

/** The first letter as readers see it, which may be several characters. */
function initialOf(name: string): string {
  const [first] = new Intl.Segmenter().segment(name);
  return first?.segment.toUpperCase() ?? "";
}

/** The input, its preview, and a button that takes the choice back. */
export class AvatarInput {
  readonly element: HTMLElement;
  readonly #input: HTMLInputElement;
  readonly #preview = h("div", { class: "preview" });
  readonly #clear = button("Remove", () => this.#forget(), { "aria-label": "Remove the chosen image" });
  #url: string | undefined;

  constructor(input: HTMLInputElement) {
    this.#input = input;
    this.#clear.hidden = true;
    this.element = h("div", { class: "choice" }, this.#preview, input, this.#clear);
    this.#show();
    input.addEventListener("change", () => this.#show());
  }

  get file(): Blob | undefined {
    return this.#input.files?.[0];
  }

  /** Takes the choice back. */
  clear(): void {
    this.#input.value = "";
    this.#input.dispatchEvent(new Event("input"));
    this.#show();
  }

  #forget(): void {
    this.clear();
    this.#input.focus();
  }

  #show(): void {
    if (this.#url !== undefined) URL.revokeObjectURL(this.#url);
    const { file } = this;
    this.#url = file === undefined ? undefined : URL.createObjectURL(file);
    this.#clear.hidden = file === undefined;
    const image = avatarImage(this.#url ?? null, "+");
    // The service says what is wrong with an image that this browser cannot show.
    image.addEventListener("error", () => this.#preview.replaceChildren(avatarImage(null, "?")));
    this.#preview.replaceChildren(image);
  }
}
