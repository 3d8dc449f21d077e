// Draws one turn, or the end, of an episode.

const FLAGS = [
  [(turn) => turn.format_is_valid === false, "invalid format"],
  [(turn) => turn.format_is_valid !== false && turn.action_is_valid === false, "unknown action"],
  [(turn) => turn.answer_is_example, "copies the example"],
  [(turn) => turn.actions.length && turn.action_is_effective === false, "no effect"],
  [(turn) => turn.finish === "length", "cut at the token limit"],
  [(turn) => turn.finish === "filtered", "stopped by a filter, or refused"],
];

const findFlags = (turn) => FLAGS.filter(([applies]) => applies(turn)).map(([, name]) => name);

// A third-party environment may report no score.
const scoreOf = (episode) => (typeof episode.score === "number" ? `, score ${episode.score}` : "");

function drawMetrics(turn, returnSoFar) {
  return drawMetricList([
    ["Actions", turn.actions.map(String).map(escapeInvisible).join(", ") || "none", ""],
    ["Reward", formatSigned(turn.reward), "reward"],
    ["Return so far", formatSigned(returnSoFar), ""],
    ...tokenMetrics(turn),
  ]);
}

const tokenMetrics = (message) => [
  ["Tokens read", message.prompt_tokens.toLocaleString("en"), ""],
  ["Generated", message.completion_tokens.toLocaleString("en"), ""],
];

function drawMetricList(metrics) {
  const list = make("dl", { class: "measures" });
  for (const [name, value, style] of metrics) {
    list.append(make("div", {}, make("dt", {}, name), make("dd", { class: style }, value)));
  }
  return list;
}

function drawFlags(flags, label) {
  if (!flags.length) return [];
  return [make("ul", { class: "flags", "aria-label": label }, ...flags.map((flag) => make("li", {}, flag)))];
}

// Turns count from 1; the number after the last turn draws the end of the episode.
function drawTurn(episode, number, pattern, sent = null) {
  const turn = episode.turns[number - 1];
  const legend = readLegend(episode.turns[0]?.observation ?? episode.final_observation);
  const observation = turn ? turn.observation : episode.final_observation;
  const left = make("div", {}, makeHeading("Observation"), ...drawObservation(observation, legend, pattern));
  const right = make("div", {});
  if (turn) {
    const returnSoFar = episode.turns.slice(0, number).reduce((sum, earlier) => sum + earlier.reward, 0);
    right.append(...drawResponse(turn, pattern, PLAYER_HEADINGS));
    if (turn.opponent) right.append(make("section", { class: "opponent", "aria-label": "Opponent" }, ...drawReply(turn, pattern)));
    right.append(makeHeading("Result"), drawMetrics(turn, returnSoFar), ...drawFlags(findFlags(turn), "Remarks"), ...drawPrompt(sent));
  } else {
    right.append(makeHeading("The end"), make("p", {}, `${words(episode.outcome)}, return ${formatSigned(episode.return)}${scoreOf(episode)}`));
    if (episode.error) right.append(make("p", {}, episode.error));
    if (episode.opponent) right.append(...drawOpponentEnd(episode.opponent));
  }
  return make("div", { class: "turn" }, left, right);
}
