// One turn, or the end, of an episode as elements.

const FLAGS = [
  [(turn) => turn.format_is_valid === false, "form broken"],
  [(turn) => turn.format_is_valid !== false && turn.action_is_valid === false, "unknown action"],
  [(turn) => turn.answer_is_example, "repeats the example"],
  [(turn) => turn.actions.length && turn.action_is_effective === false, "no effect"],
  [(turn) => turn.finish === "length", "cut at the token limit"],
];

const holding = (flags, said) => flags.filter(([holds]) => holds(said)).map(([, name]) => name);
const flagsOf = (turn) => holding(FLAGS, turn);

// Another package's environment need not tell it.
const scoreOf = (episode) => (typeof episode.score === "number" ? `, score ${episode.score}` : "");

function measures(turn, soFar) {
  const figures = [
    ["Actions", turn.actions.map(String).map(visible).join(", ") || "none", ""],
    ["Reward", signed(turn.reward), "reward"],
    ["Return so far", signed(soFar), ""],
    ...tokens(turn),
  ];
  return figureList(figures);
}

const tokens = (said) => [
  ["Tokens read", said.prompt_tokens.toLocaleString("en"), ""],
  ["Generated", said.completion_tokens.toLocaleString("en"), ""],
];

function figureList(figures) {
  const list = make("dl", { class: "measures" });
  for (const [name, value, style] of figures) {
    list.append(make("div", {}, make("dt", {}, name), make("dd", { class: style }, value)));
  }
  return list;
}

function flagList(flags, label) {
  if (!flags.length) return [];
  return [make("ul", { class: "flags", "aria-label": label }, ...flags.map((flag) => make("li", {}, flag)))];
}

// Number 1 is the first turn; the one after the last is the end.
function drawTurn(episode, number, pattern, sent = null) {
  const turn = episode.turns[number - 1];
  const legend = legendOf(episode.turns[0]?.observation ?? episode.final_observation);
  const seen = turn ? turn.observation : episode.final_observation;
  const left = make("div", {}, heading("Observation"), ...observed(seen, legend, pattern));
  const right = make("div", {});
  if (turn) {
    const soFar = episode.turns.slice(0, number).reduce((sum, past) => sum + past.reward, 0);
    right.append(...answered(turn, pattern, PLAYERS_NAMES));
    if (turn.opponent) right.append(make("section", { class: "opponent", "aria-label": "Opponent" }, ...replied(turn, pattern)));
    right.append(heading("What came of it"), measures(turn, soFar), ...flagList(flagsOf(turn), "Remarks"), ...drawSent(sent));
  } else {
    right.append(heading("The end"), make("p", {}, `${words(episode.outcome)}, return ${signed(episode.return)}${scoreOf(episode)}`));
    if (episode.opponent) right.append(...opponentsEnd(episode.opponent));
  }
  return make("div", { class: "turn" }, left, right);
}
