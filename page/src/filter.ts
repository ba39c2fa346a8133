// Filters and search: which of the cases a view shows.

import { type Case, start } from "./data";
import type { View } from "./link";

const FACETS: Record<string, (one: Case) => string[]> = {
  outcome: (one) => one.kinds,
  flip: (one) => (one.flip ? [one.flip] : []),
  scenario: (one) => (one.scenario ? [one.scenario] : []),
  dimension: (one) => (one.dimension ? [one.dimension] : []),
  tag: (one) => one.tags ?? [],
  judge: (one) => one.judges ?? [],
  source: (one) => (one.source ? [one.source] : []),
  reason: (one) => (one.reason ? [one.reason] : []),
};

const texts = new WeakMap<Case, string>();

/** Return all text of a case that is searched, in lower case. */
function searched(one: Case): string {
  let text = texts.get(one);
  if (text === undefined) {
    const verdicts = one.verdicts ?? [];
    const votes = verdicts.flatMap((v) => [...(v.votes ?? []), ...(v.appeal ? [v.appeal] : [])]);
    const parts = [one.asked, one.answer, one.error, ...verdicts.map((v) => v.reason), ...votes.map((v) => v.reason)];
    text = [one.id, ...parts.map(start)].join("\n").toLowerCase();
    texts.set(one, text);
  }
  return text;
}

/** Tell whether a view shows a case; every word of the search has to occur in it. */
export function shows(view: View, one: Case): boolean {
  for (const [name, values] of Object.entries(FACETS)) {
    if (view[name] && !values(one).includes(view[name])) return false;
  }
  return !view.q || hasWords(view.q, searched(one));
}

/** Tell whether every word of a search occurs in a text, which is in lower case. */
export function hasWords(search: string, text: string): boolean {
  return search.toLowerCase().split(/\s+/).every((word) => text.includes(word));
}
