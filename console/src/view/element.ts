// Elements of the page. Preact sets every text as text: none becomes markup.
import { type ClassAttributes, type ComponentChildren, createElement, type HTMLAttributes, type VNode } from "preact";

/** The content of an element. */
export type Content = ComponentChildren;

/** An element. */
export type Element = VNode;

/** Makes an element; undefined attributes are left out. */
export function h(
  name: string,
  attributes: Readonly<Record<string, unknown>> | null,
  ...content: readonly Content[]
): Element {
  const given = attributes as (HTMLAttributes & ClassAttributes<HTMLElement>) | null;
  return createElement(name, given, ...content);
}
