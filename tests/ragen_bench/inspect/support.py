"""What the tests of Inspect's tasks share: the figures of a log, and a solver without Inspect."""

from inspect_ai.model import ModelOutput
from inspect_ai.solver import TaskState

MODEL = "scripted"


def figures(log):
    """Return the metrics of a log by score, reducer, metric and environment."""
    return {
        (score.name, score.reducer, metric.group, metric.name): metric.value
        for score in log.results.scores
        for metric in score.metrics.values()
    }


def expected(summary, reducers=("1",)):
    """Return the same from what the harness says of a run."""
    found = {}
    for row in summary["envs"]:
        env = row["env"]
        if row["success"] is not None:
            found["success", "mean", "grouped", env] = row["success"]
            for k in reducers:
                found["success", f"pass_at_{k}", "grouped", env] = row["pass_at_k"][k]
        for name in ("score", "return"):
            if row[name] is not None:
                found[name, None, "episodes_mean", env] = row[name]
        if row["normalised"] is not None:
            _add_normalised(found, env, row["normalised"], row["normalised_interval"])
    if summary["suite_score"] is not None:
        _add_normalised(found, "suite", summary["suite_score"], summary["suite_score_interval"])
    return found


def _add_normalised(found, env, value, interval):
    for name, figure in zip(
        ("normalised", "normalised_low", "normalised_high"), (value, *interval), strict=True
    ):
        found["score", None, name, env] = figure


def state_of(sample, epoch=1):
    """Return the state in which Inspect begins a sample."""
    return TaskState(MODEL, sample.id, epoch, sample.input, [], metadata=sample.metadata)


def play(solver, state, answers):
    """Return the state after an episode, and the conversations before each answer.

    Args:
        solver: of the task.
        state: as Inspect begins it; changed.
        answers: texts or whole outputs.
    """
    given, shown = iter(answers), []

    async def generate(state, **_options):
        shown.append([(message.role, message.text) for message in state.messages])
        answer = next(given)
        whole = isinstance(answer, ModelOutput)
        state.output = answer if whole else ModelOutput.from_content(MODEL, answer)
        state.messages.append(state.output.message)
        return state

    coroutine = solver(state, generate)
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value, shown
    raise AssertionError("the solver waits for something else than the model")
