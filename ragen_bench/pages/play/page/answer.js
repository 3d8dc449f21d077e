import { narrowActions } from "./actions.js";

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

let state = null;
let send = null;

// Shows the response box. If the game takes free text, the box holds the frame of such an action.
export function showAnswer(nextState, submitResponse) {
  [state, send] = [nextState, submitResponse];
  byId("answer").value = frame();
  byId("undo").hidden = !state.several;
  if (document.activeElement === byId("answer")) placeCursor();
  updateHints();
}

const frame = () => (state.free && !state.several ? state.free.before + state.free.after : "");

// Places the cursor inside the frame.
function placeCursor() {
  const box = byId("answer");
  if (frame() && box.value === frame()) box.setSelectionRange(state.free.before.length, state.free.before.length);
}

// Sends a button's action; if a turn takes several actions, appends it to the response.
export function act(action) {
  if (state.several) write([...actions(), action]);
  else send(action);
}

const actions = () => {
  const typed = byId("answer").value.trim();
  return typed ? typed.split(state.separator).map((action) => action.trim()) : [];
};

function write(chosen) {
  byId("answer").value = chosen.join(` ${state.separator} `);
  updateHints();
  byId("announcement").textContent = byId("answer").value || "No action";
}

function updateHints() {
  const limit = state.actions_this_turn;
  const count = actions().length;
  const ignored = count > limit ? ` The last ${count - limit} will be ignored.` : "";
  const several = `${count} of at most ${limit} actions, separated by ${state.separator}.${ignored}`;
  const single = `${state.free ? "Free text, or one action" : "One action"}. A button sends its action immediately.`;
  const arrows = state.several && state.legal.some((name) => Object.values(ARROWS).includes(name.toLowerCase()));
  byId("form").textContent = state.several ? several : single;
  byId("keys").textContent = arrows ? " Arrow keys add an action, Backspace removes the last one, Enter sends." : "";
}

function submit() {
  const answer = byId("answer").value;
  if (answer.trim() && answer !== frame()) send(answer);
  else byId("message").textContent = "Choose an action or type a response first.";
}

byId("answering").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
byId("answer").addEventListener("click", placeCursor);
byId("answer").addEventListener("keyup", (event) => { if (event.key === "Tab") placeCursor(); });
byId("answer").addEventListener("input", () => {
  const { value } = byId("answer");
  if (!state.several) narrowActions(value === frame() ? "" : value);
  updateHints();
});
byId("undo").addEventListener("click", () => write(actions().slice(0, -1)));

document.addEventListener("keydown", (event) => {
  if (!state || state.end || !state.several) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof HTMLInputElement) return;
  const direction = ARROWS[event.key];
  const arrow = direction && state.legal.find((name) => name.toLowerCase() === direction);
  if (arrow) act(arrow);
  else if (event.key === "Backspace") write(actions().slice(0, -1));
  else if (event.key === "Enter" && !event.target.closest("button, summary")) submit();
  else return;
  event.preventDefault();
});
