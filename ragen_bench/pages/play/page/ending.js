import { formatNumber, makeTable, showMetrics } from "./parts.js";

// Shows the outcome of a finished episode, and the oracle's solution.
export function showEnding(state) {
  const { end } = state;
  byId("end").hidden = !end;
  byId("playing").hidden = Boolean(end);
  if (!end) return;
  byId("verdict").textContent = end.verdict;
  byId("next").hidden = Boolean(state.recording) && !state.recording.has_next;
  byId("again").hidden = Boolean(state.recording); // nobody tries an instance twice
  showMetrics("scores", [
    ["return", formatNumber(state.total)],
    ...(end.score === null ? [] : [["score", formatNumber(end.score)]]),
    ...(end.ceiling === null ? [] : [["oracle's expected score", formatNumber(end.ceiling)]]),
  ]);
  const parts = Object.entries(end.parts).map(([name, value]) => [name, formatNumber(value)]);
  byId("parts").replaceChildren(
    ...(parts.length ? [makeTable("Reward components", ["component", "value"], parts)] : []),
  );
  const turns = end.oracle.map((turn) => [turn.answer, formatNumber(turn.reward)]);
  const caption = `The oracle in the same episode: return ${formatNumber(end.oracle_total)}`;
  byId("oracle").replaceChildren(
    ...(turns.length ? [makeTable(caption, ["response", "reward"], turns)] : []),
  );
}
