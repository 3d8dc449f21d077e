// What a player saw and answered, as elements.

const LONG_PROSE = 240;

const PLAYERS_NAMES = {
  reasoning: "Reasoning, apart from the answer",
  thought: "Thought",
  answer: "Answer",
  whole: "As the model wrote it",
};

// The text between the first pair of think tags, and what stands around it.
function splitAnswer(answer) {
  const found = /^\s*<think>([^]*?)<\/think>\s*/u.exec(answer);
  return found ? { thought: found[1].trim(), rest: answer.slice(found[0].length) } : { thought: "", rest: answer };
}

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
