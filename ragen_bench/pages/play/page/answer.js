import { find } from "./parts.js";

const ARROWS = { ArrowUp: "up", ArrowDown: "down", ArrowLeft: "left", ArrowRight: "right" };

let state = null;
let send = null;

// Shows the box of the answer, and the box of words where the game takes them.
export function showAnswer(shown, sending) {
  [state, send] = [shown, sending];
  find("answer").value = "";
  find("words").value = "";
  find("undo").hidden = !state.several;
  find("free").hidden = !state.free;
  if (state.free) {
    find("before").textContent = state.free.before;
    find("after").textContent = state.free.after;
    find("words").maxLength = state.free.longest;
    find("say").textContent = state.several ? "Add" : "Send";
    find("say").ariaLabel = `${find("say").textContent} the words`;
  }
  tell();
}

// What a button does: the answer, where a turn has one action; else one more action of it.
export function act(action) {
  if (state.several) write([...actions(), action]);
  else send(action);
}

const actions = () => {
  const typed = find("answer").value.trim();
  return typed ? typed.split(state.separator).map((action) => action.trim()) : [];
};

function write(chosen) {
  find("answer").value = chosen.join(` ${state.separator} `);
  tell(true);
}

function tell(aloud = false) {
  const most = state.actions_this_turn;
  const count = actions().length;
  if (!state.several) {
    find("form").textContent = "One action. A button sends it at once.";
    return;
  }
  const arrows = state.legal.some((name) => Object.values(ARROWS).includes(name.toLowerCase()));
  const keys = arrows ? " Arrow keys add, Backspace takes back, Enter sends." : "";
  const rest = count > most ? ` The last ${count - most} will not be run.` : "";
  find("form").textContent =
    `${count} of at most ${most} actions, with ${state.separator} between them.${rest}${keys}`;
  if (aloud) find("told").textContent = find("answer").value || "No action";
}

function submit() {
  const answer = find("answer").value;
  if (answer.trim()) send(answer);
  else find("message").textContent = "Choose an action or type an answer first.";
}

find("answering").addEventListener("submit", (event) => { event.preventDefault(); submit(); });
find("answer").addEventListener("input", () => tell());
find("undo").addEventListener("click", () => write(actions().slice(0, -1)));
find("free").addEventListener("submit", (event) => {
  event.preventDefault();
  const words = find("words").value.trim();
  if (!words) {
    find("message").textContent = "Type some words first.";
    return;
  }
  find("words").value = "";
  act(`${state.free.before}${words}${state.free.after}`);
});

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
