// The messages that the model read before its answer in a turn, as the harness put them together.

const messageOf = (role, content) => ({ role, content });

// Null where this version would put them together otherwise than the run did.
function sentFor(prompt, env, episode, number) {
  if (!prompt || number > episode.turns.length) return null;
  const { opening, bare, first, skipped, history } = prompt;
  const turns = episode.turns.slice(0, number);
  const leftOut = history === null ? 0 : Math.max(0, turns.length - 1 - history);
  let start = first + turns[0].observation;
  if (leftOut) start += skipped.replace("{count}", leftOut) + turns[leftOut].observation;
  const messages = [...(bare.includes(env) ? opening.slice(0, 1) : opening), messageOf("user", start)];
  for (let i = leftOut; i < turns.length - 1; i++) {
    messages.push(messageOf("assistant", turns[i].answer), messageOf("user", turns[i + 1].observation));
  }
  return messages;
}

// Written when it is opened: a conversation holds all earlier turns again.
function drawSent(messages) {
  if (!messages) return [];
  const details = make("details", { class: "sent" }, make("summary", {}, "What was sent"));
  details.addEventListener("toggle", () => {
    if (details.children.length > 1) return;
    for (const { role, content } of messages) details.append(make("h5", {}, role), ...said(content, null, "prose"));
  });
  return [details];
}
