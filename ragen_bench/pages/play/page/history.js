import { element, find, number } from "./parts.js";

// Shows the turns that are over, each of which opens to what was shown before its answer.
export function showHistory(turns) {
  find("past").hidden = turns.length === 0;
  const list = find("turns");
  // Those of the same episode stay, as somebody may have opened them.
  while (list.children.length > turns.length) list.lastChild.remove();
  turns.forEach((turn, index) => {
    const key = JSON.stringify(turn);
    if (list.children[index]?.dataset.turn === key) return;
    const made = entry(turn, index);
    made.dataset.turn = key;
    if (list.children[index]) list.children[index].replaceWith(made);
    else list.append(made);
  });
}

function entry(turn, index) {
  const item = element("li");
  const details = element("details");
  const summary = element("summary");
  const rules = index === 0 ? ", with the rules" : "";
  summary.append(
    element("span", `Turn ${index + 1}${rules}: `, "note"),
    element("code", turn.answer || "(nothing)"),
    element("span", ` reward ${number(turn.reward)}`, "reward"),
  );
  details.append(summary, element("pre", turn.observation));
  item.append(details);
  return item;
}
