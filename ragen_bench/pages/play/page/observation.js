import { button, element, find } from "./parts.js";

// How a shop's page marks what can be clicked, and what was chosen of it.
const MARKED = /(\[(?:clicked )?button\] )(.+?)( \[(?:clicked )?button_\])/g;

// Shows a text as it is; where it marks something that can be clicked, that is a button in its
// place. Returns the actions that have one.
export function showObservation(text, legal, act) {
  const parts = [];
  const inPlace = new Set();
  let shown = 0;
  for (const match of text.matchAll(MARKED)) {
    const [whole, before, label, after] = match;
    const action = `click[${label}]`;
    if (!legal.includes(action)) continue;
    const made = button(label, () => act(action));
    made.dataset.action = action;
    if (before.includes("clicked")) made.setAttribute("aria-pressed", "true");
    parts.push(text.slice(shown, match.index), element("span", before, "mark"), made);
    parts.push(element("span", after, "mark"));
    shown = match.index + whole.length;
    inPlace.add(action);
  }
  find("observation").replaceChildren(...parts, text.slice(shown));
  return inPlace;
}
