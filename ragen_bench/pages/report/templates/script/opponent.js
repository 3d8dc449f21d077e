// The opponent's part of a turn: what it said, how that was read, and what the rule says.

const OPPONENTS_NAMES = {
  reasoning: "The opponent's reasoning, apart from its reply",
  thought: "The opponent's thought",
  answer: "The opponent's reply",
  whole: "As the opponent wrote it",
};

// Another answer than the rule's; who cannot tell or cannot be read has told nothing wrong.
const misleads = (reply) => reply.agrees === false && reply.read != null;

const REPLY_FLAGS = [
  [misleads, "opponent wrong"],
  [(reply) => !reply.readable, "opponent not readable"],
  [(reply) => reply.finish === "length", "opponent cut at the token limit"],
];

// None in a turn that asked no opponent.
const replyFlagsOf = (turn) => (turn.opponent ? holding(REPLY_FLAGS, turn.opponent) : []);

function replied(reply, pattern) {
  const told = visible(String(reply.read ?? "I cannot tell, please rephrase"));
  const rule = visible(String(reply.rule ?? "nothing: it does not understand the question"));
  const figures = [
    ["Read as", reply.readable ? told : "not readable", ""],
    ["The rule says", rule, ""],
    ["Agrees", reply.agrees == null ? "not judged" : reply.agrees ? "yes" : "no", ""],
    ...tokens(reply),
  ];
  return [
    ...answered(reply, pattern, OPPONENTS_NAMES),
    heading("How it was read"),
    figureList(figures),
    ...flagList(holding(REPLY_FLAGS, reply), "Remarks on the opponent"),
    make("details", {}, make("summary", {}, "What the opponent read"), ...said(reply.observation, pattern)),
  ];
}

// What the end of an episode says of its opponent.
function opponentsEnd({ judged, agreed, wrong, unreadable, overflowed }) {
  const counts = `Of the opponent's replies ${judged} were judged: ${agreed} agreed with the rule, ${wrong} wrong. Not readable: ${unreadable}.`;
  const end = "The opponent's context had no room for the last question, whose turn is not recorded.";
  return [make("p", {}, counts), ...(overflowed ? [make("p", {}, end)] : [])];
}
