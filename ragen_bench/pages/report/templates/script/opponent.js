// The opponent's part of a turn: what it said, and what the game reports of that.

const OPPONENTS_NAMES = {
  reasoning: "The opponent's reasoning, apart from its reply",
  thought: "The opponent's thought",
  answer: "The opponent's reply",
  whole: "As the opponent wrote it",
};

// None in a turn that asked no opponent.
function replyFlagsOf({ opponent: reply }) {
  if (!reply) return [];
  const flags = reply.remarks.map((remark) => `opponent ${remark}`);
  return reply.finish === "length" ? [...flags, "opponent cut at the token limit"] : flags;
}

function replied(turn, pattern) {
  const reply = turn.opponent;
  const figures = [...reply.figures.map(([name, text]) => [name, visible(text), ""]), ...tokens(reply)];
  return [
    ...answered(reply, pattern, OPPONENTS_NAMES),
    heading("How it was read"),
    figureList(figures),
    ...flagList(replyFlagsOf(turn), "Remarks on the opponent"),
    make("details", {}, make("summary", {}, "What the opponent read"), ...said(reply.observation, pattern)),
  ];
}

// What the end of an episode says of its opponent.
function opponentsEnd({ counts, overflowed }) {
  const end = "The opponent's context had no room for the last question, whose turn is not recorded.";
  return [make("p", {}, `Replies of the opponent: ${counts}.`), ...(overflowed ? [make("p", {}, end)] : [])];
}
