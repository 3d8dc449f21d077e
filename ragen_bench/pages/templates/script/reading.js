// Elements for observations and responses.

const LONG_PROSE = 240;

const PLAYER_HEADINGS = {
  reasoning: "Reasoning, separate from the response",
  thought: "Thought",
  response: "Response",
  raw: "Raw response",
};

// Splits a response into the text between its leading think tags and the rest.
function splitResponse(response) {
  const found = /^\s*<think>([^]*?)<\/think>\s*/u.exec(response);
  return found ? { thought: found[1].trim(), rest: response.slice(found[0].length) } : { thought: "", rest: response };
}

const makeHeading = (text) => make("h4", {}, text);

function drawProse(text, pattern) {
  if (!text) return [];
  const blocks = drawText(text, pattern, "prose");
  if (text.length < LONG_PROSE || (pattern && text.search(pattern) >= 0)) return blocks;
  return [make("details", {}, make("summary", {}, "Rules and instructions"), ...blocks)];
}

function drawObservation(observation, legend, pattern) {
  const { before, board, after } = splitBoard(observation, legend);
  if (!board) return drawText(before, pattern);
  return [...drawProse(before, pattern), drawBoard(board, legend), ...drawProse(after, pattern)];
}

// Draws the player's response in a turn, or the opponent's reply.
function drawResponse(turn, pattern, names) {
  const { thought, rest } = splitResponse(turn.answer);
  const parts = [];
  if (turn.reasoning) parts.push(makeHeading(names.reasoning), ...drawText(turn.reasoning, pattern, "thought"));
  if (thought) parts.push(makeHeading(names.thought), ...drawText(thought, pattern, "thought"));
  parts.push(makeHeading(names.response), ...(rest ? drawText(rest, pattern) : [make("p", { class: "none" }, "empty")]));
  if (thought || rest !== turn.answer) {
    parts.push(make("details", {}, make("summary", {}, names.raw), ...drawText(turn.answer, pattern)));
  }
  return parts;
}
