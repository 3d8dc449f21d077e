import { element, find } from "./parts.js";

let state = null;
let answers = {};

function show(next) {
  state = next;
  answers = {};
  find("progress").textContent = `${next.rater}: ${next.done} of ${next.of} rated`;
  find("message").textContent = "";
  find("comment").value = "";
  const done = next.episode === undefined;
  find("form").hidden = done;
  const parts = done ? [element("h2", "All are rated. Thank you.")] : trace(next);
  find("trace").replaceChildren(...parts);
  if (!done) askQuestions();
  window.scrollTo(0, 0);
}

function trace(next) {
  const parts = [];
  next.turns.forEach(([observation, answer], number) => {
    parts.push(element("h2", `Turn ${number + 1}`), element("pre", observation));
    parts.push(element("pre", answer, "answer"));
  });
  return [...parts, element("h2", "End"), element("pre", next.ending)];
}

function askQuestions() {
  const fields = Object.entries(state.questions).map(([name, question]) => {
    const field = element("fieldset", "");
    field.append(element("legend", question));
    state.scale.forEach((level, number) => {
      const choice = document.createElement("input");
      Object.assign(choice, { type: "radio", name, value: number });
      choice.addEventListener("change", () => { answers[name] = number; showAnswers(); });
      const label = element("label", "");
      label.append(choice, ` ${level}`);
      field.append(label);
    });
    return field;
  });
  find("questions").replaceChildren(...fields);
  showAnswers();
}

// Of the same elements, so that the focus stays where it is.
function showAnswers() {
  const due = Object.keys(state.questions).find((name) => answers[name] === undefined);
  for (const choice of find("questions").querySelectorAll("input")) {
    choice.checked = answers[choice.name] === Number(choice.value);
    choice.closest("fieldset").classList.toggle("current", choice.name === due);
  }
}

function answerNext(level) {
  const due = Object.keys(state.questions).find((name) => answers[name] === undefined);
  if (due) answers[due] = level;
  showAnswers();
}

function takeBack() {
  const given = Object.keys(state.questions).filter((name) => answers[name] !== undefined);
  if (given.length) delete answers[given.at(-1)];
  showAnswers();
}

async function save() {
  if (Object.keys(answers).length < Object.keys(state.questions).length) {
    find("message").textContent = "Answer every question first.";
    return;
  }
  const rating = { episode: state.episode, ratings: answers, comment: find("comment").value };
  try {
    const reply = await fetch("rate", { method: "POST", body: JSON.stringify(rating) });
    const next = await reply.json();
    if (reply.ok) show(next);
    else find("message").textContent = next.error;
  } catch {
    find("message").textContent = "The command has ended; start it again. This rating is not saved.";
  }
}

find("form").addEventListener("submit", (event) => { event.preventDefault(); save(); });
document.addEventListener("keydown", (event) => {
  if (!state || state.episode === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target === find("comment")) return;
  const level = state.scale.findIndex((name) => name[0] === event.key.toLowerCase());
  if (level >= 0) answerNext(level);
  else if (event.key === "Backspace") takeBack();
  else if (event.key === "Enter" && event.target.type !== "submit") save();
  else return;
  event.preventDefault();
});
fetch("next").then((reply) => reply.json()).then(show);
