// The fragment of the address: which case is open, and what is filtered. Whoever gets the link sees the same.

export type View = Record<string, string>;

/** Return what a fragment says; one that is a plain anchor says nothing. A plus sign is one, since ids may have it. */
export function read(fragment = location.hash): View {
  const text = fragment.slice(1);
  return text.includes("=") ? Object.fromEntries(new URLSearchParams(text.replaceAll("+", "%2B"))) : {};
}

/** Return the fragment that says this. */
export function fragment(view: View): string {
  const parts = Object.entries(view).filter(([, value]) => value !== "");
  return parts.map(([name, value]) => `${name}=${encodeURIComponent(value)}`).join("&");
}

/** Put this into the address; as a new step of the history if `step` is given. */
export function write(view: View, step = false): void {
  const text = fragment(view);
  const address = text ? `#${text}` : location.pathname + location.search;
  if (step) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
}
