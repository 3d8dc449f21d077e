// One turn, or the end, of an episode as elements.

const LONG_PROSE = 240;

const FLAGS = [
  [(turn) => turn.format_is_valid === false, "form broken"],
  [(turn) => turn.format_is_valid !== false && turn.action_is_valid === false, "unknown action"],
  [(turn) => turn.answer_is_example, "repeats the example"],
  [(turn) => turn.actions.length && turn.action_is_effective === false, "no effect"],
  [(turn) => turn.finish === "length", "cut at the token limit"],
];

const PLAYERS_NAMES = {
  reasoning: "Reasoning, apart from the answer",
  thought: "Thought",
  answer: "Answer",
  whole: "As the model wrote it",
};

const holding = (flags, said) => flags.filter(([holds]) => holds(said)).map(([, name]) => name);
const flagsOf = (turn) => holding(FLAGS, turn);

// The text between the first pair of think tags, and what stands around it.
function splitAnswer(answer) {
  const found = /^\s*<think>([^]*?)<\/think>\s*/u.exec(answer);
  return found ? { thought: found[1].trim(), rest: answer.slice(found[0].length) } : { thought: "", rest: answer };
}

// Another package's environment need not tell it.
const scoreOf = (episode) => (typeof episode.score === "number" ? `, score ${episode.score}` : "");

const heading = (text) => make("h4", {}, text);

function prose(text, pattern) {
  if (!text) return [];
  const block = said(text, pattern, "prose");
  if (text.length < LONG_PROSE || (pattern && text.search(pattern) >= 0)) return block;
  return [make("details", {}, make("summary", {}, "Rules and instructions"), ...block)];
}

function observed(observation, legend, pattern) {
  const { before, board, after } = splitBoard(observation, legend);
  if (!board) return said(before, pattern);
  return [...prose(before, pattern), drawBoard(board, legend), ...prose(after, pattern)];
}

// The player's answer in a turn, or the opponent's.
function answered(turn, pattern, names) {
  const { thought, rest } = splitAnswer(turn.answer);
  const parts = [];
  if (turn.reasoning) parts.push(heading(names.reasoning), ...said(turn.reasoning, pattern, "thought"));
  if (thought) parts.push(heading(names.thought), ...said(thought, pattern, "thought"));
  parts.push(heading(names.answer), ...(rest ? said(rest, pattern) : [make("p", { class: "none" }, "empty")]));
  if (thought || rest !== turn.answer) {
    parts.push(make("details", {}, make("summary", {}, names.whole), ...said(turn.answer, pattern)));
  }
  return parts;
}

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
