import { button, find } from "./parts.js";

const FEW = 12; // so many can be read without a search

let legal = [];
let inPlace = new Set();
let act = null;

// Shows the actions that may be answered now as buttons, but for those that have one in the text.
export function showActions(state, elsewhere, pressed) {
  [legal, inPlace, act] = [state.legal, elsewhere, pressed];
  find("filtering").hidden = legal.length <= FEW;
  find("filter").value = "";
  narrow();
}

// With a word to find, those of the text are listed too: a long page may have hundreds.
function found() {
  const wanted = find("filter").value.trim().toLowerCase();
  if (!wanted) return legal.filter((action) => !inPlace.has(action));
  return legal.filter((action) => action.toLowerCase().includes(wanted));
}

function narrow() {
  const listed = found();
  const searching = find("filter").value.trim() !== "";
  find("buttons").replaceChildren(...listed.map((action) => {
    const made = button(action, () => act(action));
    made.dataset.action = action;
    return made;
  }));
  find("elsewhere").hidden = searching || !inPlace.size;
  find("found").textContent = searching ? `${listed.length} of ${legal.length}` : "";
}

find("filter").addEventListener("input", narrow);
find("filter").addEventListener("keydown", (event) => {
  if (event.key !== "Enter") return;
  event.preventDefault();
  const listed = found();
  if (find("filter").value.trim() && listed.length === 1) act(listed[0]);
});
