import { showActions } from "./actions.js";
import { act, showAnswer } from "./answer.js";
import { showEnding } from "./ending.js";
import { showHistory } from "./history.js";
import { showObservation } from "./observation.js";
import { formatNumber, showMetrics } from "./parts.js";

const GONE = "The server has ended; start the command again. Nothing was sent.";

let state = null;
let busy = false;

function show(next) {
  const focusedAction = document.activeElement?.dataset.action;
  const hadState = state !== null;
  state = next;
  const name = state.env.split("/").at(-1);
  document.title = `Play ${name}`;
  byId("env").textContent = name;
  byId("which").textContent =
    `${state.split}, instance ${state.index}${state.noise_seed ? `, noise seed ${state.noise_seed}` : ""}`;
  showRecording(state.recording);
  byId("waiting").hidden = true;
  document.querySelector("main").hidden = false;
  byId("message").textContent = "";
  const turn = state.turns.length;
  byId("turn").textContent = state.end ? `The end, after turn ${turn}` : `Turn ${turn + 1} of ${state.max_turns}`;
  showMetrics("figures", [
    ["turns left", state.turns_left],
    ["actions left", state.actions_left],
    ["return so far", formatNumber(state.total)],
  ]);
  showAnswer(state, send);
  showActions(state, showObservation(state, act), act);
  showHistory(state.turns);
  showEnding(state);
  const first = turn ? state.observation.split("\n", 1)[0] : "A new episode.";
  byId("announcement").textContent = state.end ? `${first} ${state.end.verdict}.` : first;
  if (hadState) restoreFocus(focusedAction);
}

// Shows whose episodes are recorded, and how many there are.
function showRecording(recording) {
  byId("recording").hidden = byId("skip").hidden = !recording;
  if (!recording) return;
  const { player, recorded, planned, has_next: hasNext } = recording;
  const rest = state.end && !hasNext ? " None is left for you: close this page." : "";
  byId("recording").textContent = `${player} plays: ${recorded} of ${planned} episodes are recorded.${rest}`;
}

// Keeps the focus on a button that still exists; otherwise moves it to the heading of the turn.
function restoreFocus(focusedAction) {
  const lost = document.activeElement === document.body || !document.activeElement.getClientRects().length;
  if (!lost) return;
  const buttons = [...document.querySelectorAll("[data-action]")];
  const same = state.several && buttons.find((button) => button.dataset.action === focusedAction);
  (same || byId("turn")).focus();
}

async function ask(place, message) {
  if (busy) return;
  busy = true;
  try {
    const reply = await fetch(place, message && { method: "POST", body: JSON.stringify(message) });
    const content = await reply.json();
    if (reply.ok) show(content);
    else {
      if (content.state) show(content.state);
      byId("message").textContent = `Rejected: ${content.error}.`;
    }
  } catch {
    byId("message").textContent = GONE;
  } finally {
    busy = false;
  }
}

const send = (answer) => ask("answer", { game: state.game, turn: state.turns.length, answer });

byId("skip").addEventListener("click", () => confirm("Give the episode up? It counts as a failure.") && ask("skip", { game: state.game, turn: state.turns.length }));
byId("next").addEventListener("click", () => ask("start", { game: state.game, next: true }));
byId("again").addEventListener("click", () => ask("start", { game: state.game, next: false }));

// Another tab may have continued the episode.
document.addEventListener("visibilitychange", async () => {
  if (document.visibilityState !== "visible" || !state || busy) return;
  const now = await fetch("state").then((reply) => reply.json()).catch(() => state);
  if (now.game !== state.game || now.turns.length !== state.turns.length) show(now);
});

handleTheme();
ask("state");
