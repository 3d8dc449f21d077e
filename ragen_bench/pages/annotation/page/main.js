let state = null;
let answers = {};

function show(next) {
  state = next;
  answers = {};
  byId("progress").textContent = `${next.rater}: ${next.done} of ${next.of} rated`;
  byId("message").textContent = "";
  byId("comment").value = "";
  const done = next.episode === undefined;
  byId("form").hidden = done;
  const parts = done ? [make("h2", {}, "All episodes are rated. Thank you.")] : drawTrace(next);
  byId("trace").replaceChildren(...parts);
  if (!done) askQuestions();
  window.scrollTo(0, 0);
}

function drawTrace({ turns, ending }) {
  const legend = readLegend(turns[0]?.[0] ?? ending);
  const parts = turns.map(([observation, answer], number) => {
    const left = make("div", {}, makeHeading("Observation"), ...drawObservation(observation, legend, null));
    const right = make("div", {}, ...drawResponse({ answer }, null, PLAYER_HEADINGS));
    return make("section", {}, make("h2", {}, `Turn ${number + 1}`), make("div", { class: "turn" }, left, right));
  });
  return [...parts, make("section", {}, make("h2", {}, "End"), ...drawObservation(ending, legend, null))];
}

function askQuestions() {
  const fields = Object.entries(state.questions).map(([name, question]) => {
    const choices = state.scale.map((level, value) => {
      const change = () => { answers[name] = value; updateAnswers(); };
      return make("label", {}, make("input", { type: "radio", name, value, change }), ` ${level}`);
    });
    return make("fieldset", {}, make("legend", {}, question), ...choices);
  });
  byId("questions").replaceChildren(...fields);
  updateAnswers();
}

const nextQuestion = () => Object.keys(state.questions).find((name) => answers[name] === undefined);

// Updates the existing elements, so that the focus stays.
function updateAnswers() {
  const next = nextQuestion();
  for (const choice of byId("questions").querySelectorAll("input")) {
    choice.checked = answers[choice.name] === Number(choice.value);
    choice.closest("fieldset").classList.toggle("current", choice.name === next);
  }
}

function answerNext(level) {
  const next = nextQuestion();
  if (next) answers[next] = level;
  updateAnswers();
}

function undoAnswer() {
  const answered = Object.keys(state.questions).filter((name) => answers[name] !== undefined);
  if (answered.length) delete answers[answered.at(-1)];
  updateAnswers();
}

async function save() {
  if (Object.keys(answers).length < Object.keys(state.questions).length) {
    byId("message").textContent = "Answer every question first.";
    return;
  }
  const rating = { episode: state.episode, ratings: answers, comment: byId("comment").value };
  try {
    const reply = await fetch("rate", { method: "POST", body: JSON.stringify(rating) });
    const next = await reply.json();
    if (reply.ok) show(next);
    else byId("message").textContent = next.error;
  } catch {
    byId("message").textContent = "The server has ended; start the command again. This rating is not saved.";
  }
}

byId("form").addEventListener("submit", (event) => { event.preventDefault(); save(); });
document.addEventListener("keydown", (event) => {
  if (!state || state.episode === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === byId("comment")) return;
  const level = state.scale.findIndex((name) => name[0] === event.key.toLowerCase());
  if (level >= 0) answerNext(level);
  else if (event.key === "Backspace") undoAnswer();
  else if (event.key === "Enter" && event.target.type !== "submit") save();
  else return;
  event.preventDefault();
});
handleTheme();
fetch("next").then((reply) => reply.json()).then(show);
