import { actionButton } from "./parts.js";

// How a shop's page marks what can be clicked, and what was chosen of it.
const MARKED = /(\[(?:clicked )?button\] )(.+?)( \[(?:clicked )?button_\])/g;

const first = (state) => state.turns[0]?.observation ?? state.observation;

// Shows what the player sees now: first what came of the last answer, then the board in colour, or
// the text as it is. Returns the actions that have a button in the text.
export function showObservation(state, act) {
  const legend = readLegend(first(state));
  const parts = splitBoard(state.observation, legend);
  showRules(state, legend);
  byId("exactly").hidden = !parts.board;
  byId("exact").textContent = state.observation;
  if (parts.board) return showBoard(parts, legend, state);
  const inPlace = new Set();
  byId("observation").replaceChildren(make("pre", { class: "quote" }, ...text(state, inPlace, act)));
  return inPlace;
}

function showBoard({ before, board, after }, legend, state) {
  // The rules stand beside the board all the time; of them, the first line says what to do.
  const said = state.turns.length ? before : before.split("\n", 1)[0];
  const below = after && make("pre", { class: "quote prose" }, after);
  byId("observation").replaceChildren(feedback(said, state, "p"), drawBoard(board, legend), below);
  return new Set();
}

function showRules(state, legend) {
  const { before, board } = splitBoard(first(state), legend);
  byId("rules").hidden = !board && !state.turns.length;
  byId("ruled").textContent = before;
}

const feedback = (said, state, tag) =>
  make(tag, { class: "feedback", "data-reward": Math.sign(state.turns.at(-1)?.reward ?? 0) }, said);

// Where a text marks something that can be clicked, a button stands in its place.
function text(state, inPlace, act) {
  const { observation, legal } = state;
  // Another package's environment need not begin with what came of the answer.
  const head = /^Done: .*/.exec(observation)?.[0] ?? "";
  const parts = head ? [feedback(head, state, "span")] : [];
  let shown = head.length;
  for (const match of observation.matchAll(MARKED)) {
    const [whole, before, label, after] = match;
    const action = `click[${label}]`;
    if (match.index < shown || !legal.includes(action)) continue;
    const pressed = before.includes("clicked") && "true";
    parts.push(observation.slice(shown, match.index), make("span", { class: "mark" }, before));
    parts.push(actionButton(action, label, act, pressed), make("span", { class: "mark" }, after));
    shown = match.index + whole.length;
    inPlace.add(action);
  }
  return [...parts, observation.slice(shown)];
}
