import { figures, number, table } from "./parts.js";

// Shows how the episode ended, and only then how the oracle plays it.
export function showEnding(state) {
  const { end } = state;
  byId("end").hidden = !end;
  byId("playing").hidden = Boolean(end);
  if (!end) return;
  byId("verdict").textContent = end.verdict;
  figures("scores", [
    ["return", number(state.total)],
    ...(end.score === null ? [] : [["score", number(end.score)]]),
    ...(end.ceiling === null ? [] : [["the oracle expects", number(end.ceiling)]]),
  ]);
  const parts = Object.entries(end.parts).map(([name, value]) => [name, number(value)]);
  byId("parts").replaceChildren(
    ...(parts.length ? [table("What the reward is made of", ["part", "value"], parts)] : []),
  );
  const turns = end.oracle.map((turn) => [turn.answer, number(turn.reward)]);
  const caption = `The oracle in the same episode: return ${number(end.oracle_total)}`;
  byId("oracle").replaceChildren(
    ...(turns.length ? [table(caption, ["answer", "reward"], turns)] : []),
  );
}
