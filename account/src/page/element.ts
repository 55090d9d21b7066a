// Elements of the page. Every text is set as text: none becomes markup.

/** The content of an element. */
export type Content = Node | string | undefined;

/** Makes an element. A boolean attribute is there when true; undefined ones are left out. */
export function h<Name extends keyof HTMLElementTagNameMap>(
  name: Name,
  attributes: Readonly<Record<string, string | number | boolean | undefined>> = {},
  ...content: readonly Content[]
): HTMLElementTagNameMap[Name] {
  const element = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes))
    if (value !== undefined && value !== false) element.setAttribute(attribute, value === true ? "" : String(value));
  element.append(...content.filter((each) => each !== undefined));
  return element;
}

/** A button that does something of its own, without a form. */
export function button(
  text: string,
  onClick: () => void,
  attributes: Readonly<Record<string, string>> = {},
): HTMLButtonElement {
  const element = h("button", { type: "button", class: "plain", ...attributes }, text);
  element.addEventListener("click", onClick);
  return element;
}
