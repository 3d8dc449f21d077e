import { narrowActions } from "./actions.js";

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

let state = null;
let send = null;

// Shows the box of the answer; where the game takes words of one's own, with what stands around them.
export function showAnswer(shown, sending) {
  [state, send] = [shown, sending];
  byId("answer").value = around();
  byId("undo").hidden = !state.several;
  if (document.activeElement === byId("answer")) goBetween();
  tell();
}

const around = () => (state.free && !state.several ? state.free.before + state.free.after : "");

// Words are typed between what stands around them.
function goBetween() {
  const box = byId("answer");
  if (around() && box.value === around()) box.setSelectionRange(state.free.before.length, state.free.before.length);
}

// What a button does: the answer, where a turn has one action; else one more action of it.
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
  tell();
  byId("told").textContent = byId("answer").value || "No action";
}

function tell() {
  const most = state.actions_this_turn;
  const count = actions().length;
  const rest = count > most ? ` The last ${count - most} will not be run.` : "";
  const several = `${count} of at most ${most} actions, with ${state.separator} between them.${rest}`;
  const single = `${state.free ? "Words of your own, or one action" : "One action"}. A button sends it at once.`;
  const arrows = state.several && state.legal.some((name) => Object.values(ARROWS).includes(name.toLowerCase()));
  byId("form").textContent = state.several ? several : single;
  byId("keys").textContent = arrows ? " Arrow keys add, Backspace takes back, Enter sends." : "";
}

function submit() {
  const answer = byId("answer").value;
  if (answer.trim() && answer !== around()) send(answer);
  else byId("message").textContent = "Choose an action or type an answer first.";
}

byId("answering").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
byId("answer").addEventListener("click", goBetween);
byId("answer").addEventListener("keyup", (event) => { if (event.key === "Tab") goBetween(); });
byId("answer").addEventListener("input", () => {
  const { value } = byId("answer");
  if (!state.several) narrowActions(value === around() ? "" : value);
  tell();
});
byId("undo").addEventListener("click", () => write(actions().slice(0, -1)));

document.addEventListener("keydown", (event) => {
  if (!state || state.end || !state.several) return;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof HTMLInputElement) return;
  const wanted = ARROWS[event.key];
  const arrow = wanted && state.legal.find((name) => name.toLowerCase() === wanted);
  if (arrow) act(arrow);
  else if (event.key === "Backspace") write(actions().slice(0, -1));
  else if (event.key === "Enter" && !event.target.closest("button, summary")) submit();
  else return;
  event.preventDefault();
});
