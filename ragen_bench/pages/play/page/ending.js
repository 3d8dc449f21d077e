import { figures, find, number, table } from "./parts.js";

// Shows how the episode ended, and only then how the oracle plays it.
export function showEnding(state) {
  const { end } = state;
  find("end").hidden = !end;
  find("playing").hidden = Boolean(end);
  if (!end) return;
  find("verdict").textContent = end.verdict;
  figures("scores", [
    ["return", number(state.total)],
    ...(end.score === null ? [] : [["score", number(end.score)]]),
    ...(end.ceiling === null ? [] : [["the oracle expects", number(end.ceiling)]]),
  ]);
  const parts = Object.entries(end.parts).map(([name, value]) => [name, number(value)]);
  find("parts").replaceChildren(
    ...(parts.length ? [table("What the reward is made of", ["part", "value"], parts)] : []),
  );
  const turns = end.oracle.map((turn) => [turn.answer, number(turn.reward)]);
  const caption = `The oracle in the same episode: return ${number(end.oracle_total)}`;
  find("oracle").replaceChildren(
    ...(turns.length ? [table(caption, ["answer", "reward"], turns)] : []),
  );
}
