"""A model API of Inspect's that gives the answers of a run of the harness again."""

from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, modelapi
from inspect_ai.solver._task_state import sample_state

from ragen_bench import Run


@modelapi("replay")
class Replay(ModelAPI):
    """Knows which episode asks from Inspect's own state of the sample.

    Args:
        model_name: the directory of a run.
    """

    def __init__(self, model_name, base_url=None, api_key=None, config=None, **_args):
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        self._answers = {
            (episode.env, episode.index, episode.sample): [turn.answer for turn in episode.turns]
            for episode in Run(model_name).episodes
        }
        self._left = {}

    async def generate(self, input, tools, tool_choice, config):
        state = sample_state()
        key = state.metadata["env"], state.metadata["seed"], state.epoch - 1
        answers = self._left.setdefault(state.uuid, iter(self._answers[key]))
        return ModelOutput.from_content(self.model_name, next(answers))
