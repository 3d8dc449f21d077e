// The opponent's reply in a turn, and the game's remarks on it.

const OPPONENT_HEADINGS = {
  reasoning: "The opponent's reasoning, separate from its reply",
  thought: "The opponent's thought",
  response: "The opponent's reply",
  raw: "The opponent's raw reply",
};

// Empty in a turn without an opponent.
function findReplyFlags({ opponent: reply }) {
  if (!reply) return [];
  const flags = reply.remarks.map((remark) => `opponent ${remark}`);
  if (reply.finish === "filtered") flags.push("opponent stopped by a filter, or refused");
  return reply.finish === "length" ? [...flags, "opponent cut at the token limit"] : flags;
}

function drawReply(turn, pattern) {
  const reply = turn.opponent;
  const metrics = [...reply.figures.map(([name, text]) => [name, escapeInvisible(text), ""]), ...tokenMetrics(reply)];
  return [
    ...drawResponse(reply, pattern, OPPONENT_HEADINGS),
    makeHeading("How the game read it"),
    drawMetricList(metrics),
    ...drawFlags(findReplyFlags(turn), "Remarks on the opponent"),
    make("details", {}, make("summary", {}, "The opponent's prompt"), ...drawText(reply.observation, pattern)),
  ];
}

// Summarises the opponent's replies at the end of an episode.
function drawOpponentEnd({ counts, overflowed }) {
  const overflow = "The last question did not fit into the opponent's context; its turn is not recorded.";
  return [make("p", {}, `Replies of the opponent: ${counts}.`), ...(overflowed ? [make("p", {}, overflow)] : [])];
}
