import { actionButton } from "./parts.js";

const SEARCH_THRESHOLD = 12; // longer lists can be searched

let legal = [];
let inPlace = new Set();
let act = null;

// Shows the legal actions as buttons, except those that have a button in the text.
export function showActions(state, actionsInText, play) {
  [legal, inPlace, act] = [state.legal, actionsInText, play];
  narrowActions("");
}

// Filters a long list by the typed text. A search also lists the actions of the text.
export function narrowActions(typed) {
  const query = legal.length > SEARCH_THRESHOLD ? typed.trim().toLowerCase() : "";
  const matches = (action) => (query ? action.toLowerCase().includes(query) : !inPlace.has(action));
  const matching = legal.filter(matches);
  byId("buttons").replaceChildren(...matching.map((action) => actionButton(action, action, act)));
  byId("elsewhere").hidden = query !== "" || !inPlace.size;
  byId("found").textContent = query ? `${matching.length} of ${legal.length} match` : "";
}
