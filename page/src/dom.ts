// Elements whose content is text: nothing from a run is ever read as HTML.

export type Child = Node | string | number | null | undefined | false;

/** Return an element with attributes and children; strings become text nodes. */
export function h(tag: string, attributes: Record<string, string | boolean | undefined> = {}, ...children: Child[]): HTMLElement {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== undefined) element.setAttribute(name, value);
  }
  for (const child of children) {
    if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(visible(String(child)));
  }
  return element;
}

/** Return text with control characters as their pictures, as the page itself has them. */
export function visible(text: string): string {
  return text.replace(/[\0-\x08\x0b-\x1f]/g, (c) => String.fromCharCode(0x2400 + c.charCodeAt(0))).replace(/\x7f/g, "\u2421");
}

/** Return the element with this id, which the page has. */
export function byId<T extends HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no #${id}`);
  return found as T;
}

/** Return a drawing as one picture with a name; its numbers stand in a table beside it. */
export function picture(drawn: Element, name: string): Element {
  drawn.setAttribute("aria-hidden", "true");
  return h("div", { role: "img", "aria-label": name }, drawn);
}
