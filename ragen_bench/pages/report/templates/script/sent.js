// The prompt of a turn: all messages that the harness sent for it.

const messageOf = (role, content) => ({ role, content });

// Returns null if this version would build another prompt than the run did.
function buildPrompt(prompt, env, episode, number) {
  if (!prompt || number > episode.turns.length) return null;
  const { opening, bare, first, skipped, history } = prompt;
  const turns = episode.turns.slice(0, number);
  const omitted = history === null ? 0 : Math.max(0, turns.length - 1 - history);
  let firstMessage = first + turns[0].observation;
  if (omitted) firstMessage += skipped.replace("{count}", omitted) + turns[omitted].observation;
  const messages = [...(bare.includes(env) ? opening.slice(0, 1) : opening), messageOf("user", firstMessage)];
  for (let i = omitted; i < turns.length - 1; i++) {
    messages.push(messageOf("assistant", turns[i].answer), messageOf("user", turns[i + 1].observation));
  }
  return messages;
}

// Filled when it is opened, since each prompt repeats all earlier turns.
function drawPrompt(messages) {
  if (!messages) return [];
  const details = make("details", { class: "sent" }, make("summary", {}, "Prompt"));
  details.addEventListener("toggle", () => {
    if (details.children.length > 1) return;
    for (const { role, content } of messages) details.append(make("h5", {}, role), ...drawText(content, null, "prose"));
  });
  return [details];
}
