import { actionButton } from "./parts.js";

// Markup of WebShop's text for buttons, clicked or not.
const MARKED = /(\[(?:clicked )?button\] )(.+?)( \[(?:clicked )?button_\])/g;

const firstObservation = (state) => state.turns[0]?.observation ?? state.observation;

// Shows the current observation: the feedback on the last response, then the board in colour or the
// plain text. Returns the actions that have a button in the text.
export function showObservation(state, act) {
  const legend = readLegend(firstObservation(state));
  const parts = splitBoard(state.observation, legend);
  showRules(state, legend);
  byId("exactly").hidden = !parts.board;
  byId("exact").textContent = state.observation;
  if (parts.board) return showBoard(parts, legend, state);
  const inPlace = new Set();
  byId("observation").replaceChildren(make("pre", { class: "quote" }, ...drawTextWithButtons(state, inPlace, act)));
  return inPlace;
}

function showBoard({ before, board, after }, legend, state) {
  // The rules have their own box, so only their first line, the task, is shown here.
  const message = state.turns.length ? before : before.split("\n", 1)[0];
  const below = after && make("pre", { class: "quote prose" }, after);
  byId("observation").replaceChildren(drawFeedback(message, state, "p"), drawBoard(board, legend), below);
  return new Set();
}

function showRules(state, legend) {
  const { before, board } = splitBoard(firstObservation(state), legend);
  byId("rules").hidden = !board && !state.turns.length;
  byId("ruled").textContent = before;
}

const drawFeedback = (message, state, tag) =>
  make(tag, { class: "feedback", "data-reward": Math.sign(state.turns.at(-1)?.reward ?? 0) }, message);

// Draws the text with a button in place of each marked action.
function drawTextWithButtons(state, inPlace, act) {
  const { observation, legal } = state;
  // A third-party environment may give no such feedback line.
  const head = /^Done: .*/.exec(observation)?.[0] ?? "";
  const parts = head ? [drawFeedback(head, state, "span")] : [];
  let end = head.length;
  for (const match of observation.matchAll(MARKED)) {
    const [whole, before, label, after] = match;
    const action = `click[${label}]`;
    if (match.index < end || !legal.includes(action)) continue;
    const pressed = before.includes("clicked") && "true";
    parts.push(observation.slice(end, match.index), make("span", { class: "mark" }, before));
    parts.push(actionButton(action, label, act, pressed), make("span", { class: "mark" }, after));
    end = match.index + whole.length;
    inPlace.add(action);
  }
  return [...parts, observation.slice(end)];
}
