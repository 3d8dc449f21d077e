import { formatNumber } from "./parts.js";

// Shows the finished turns. Each opens to its observation.
export function showHistory(turns) {
  byId("past").hidden = turns.length === 0;
  const list = byId("turns");
  // Unchanged turns keep their elements, so that opened ones stay open.
  while (list.children.length > turns.length) list.lastChild.remove();
  turns.forEach((turn, index) => {
    const key = JSON.stringify(turn);
    if (list.children[index]?.dataset.turn === key) return;
    const item = makeEntry(turn, index, readLegend(turns[0].observation));
    item.dataset.turn = key;
    if (list.children[index]) list.children[index].replaceWith(item);
    else list.append(item);
  });
}

function makeEntry(turn, index, legend) {
  const summary = make(
    "summary",
    {},
    make("span", { class: "note" }, `Turn ${index + 1}: `),
    make("code", {}, turn.answer || "(nothing)"),
    make("span", { class: "reward" }, ` reward ${formatNumber(turn.reward)}`),
  );
  return make("li", {}, make("details", {}, summary, ...drawObservation(turn.observation, legend, null)));
}
