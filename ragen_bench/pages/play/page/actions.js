import { actionButton } from "./parts.js";

const FEW = 12; // so many can be read without a search

let legal = [];
let inPlace = new Set();
let act = null;

// Shows the actions that may be answered now as buttons, but for those that have one in the text.
export function showActions(state, elsewhere, pressed) {
  [legal, inPlace, act] = [state.legal, elsewhere, pressed];
  narrowActions("");
}

// Of a long list, those that hold what is typed; with it, those of the text are listed too.
export function narrowActions(typed) {
  const wanted = legal.length > FEW ? typed.trim().toLowerCase() : "";
  const holds = (action) => (wanted ? action.toLowerCase().includes(wanted) : !inPlace.has(action));
  const listed = legal.filter(holds);
  byId("buttons").replaceChildren(...listed.map((action) => actionButton(action, action, act)));
  byId("elsewhere").hidden = wanted !== "" || !inPlace.size;
  byId("found").textContent = wanted ? `${listed.length} of ${legal.length} hold what is typed` : "";
}
