import { number } from "./parts.js";

// Shows the turns that are over, each of which opens to what was shown before its answer.
export function showHistory(turns) {
  byId("past").hidden = turns.length === 0;
  const list = byId("turns");
  // Those of the same episode stay, as somebody may have opened them.
  while (list.children.length > turns.length) list.lastChild.remove();
  turns.forEach((turn, index) => {
    const key = JSON.stringify(turn);
    if (list.children[index]?.dataset.turn === key) return;
    const made = entry(turn, index, readLegend(turns[0].observation));
    made.dataset.turn = key;
    if (list.children[index]) list.children[index].replaceWith(made);
    else list.append(made);
  });
}

function entry(turn, index, legend) {
  const summary = make(
    "summary",
    {},
    make("span", { class: "note" }, `Turn ${index + 1}: `),
    make("code", {}, turn.answer || "(nothing)"),
    make("span", { class: "reward" }, ` reward ${number(turn.reward)}`),
  );
  return make("li", {}, make("details", {}, summary, ...drawObservation(turn.observation, legend, null)));
}
