"""A server of a small vision model with random weights, which answers with one step of a board."""

from base64 import b64decode
from io import BytesIO

import numpy as np
import torch
from PIL import Image
from transformers import CLIPVisionConfig, LlamaConfig, LlavaConfig, LlavaForConditionalGeneration

from .hosted import Hosted

STEPS = ("Up", "Down", "Left", "Right")
_SHOWN = 256
"""The token that stands for a part of a picture; those below are bytes."""
_SIZE, _PATCH = 32, 8


def pictures_in(message):
    """Return the pictures of a message as arrays, in order."""
    content = message["content"]
    parts = [] if isinstance(content, str) else [p for p in content if p["type"] == "image_url"]
    files = [part["image_url"]["url"].removeprefix("data:image/png;base64,") for part in parts]
    return [np.array(Image.open(BytesIO(b64decode(file, validate=True)))) for file in files]


class Seeing(Hosted):
    """Answers with the step whose first letter the model finds likeliest to come next."""

    def __init__(self, url):
        super().__init__(url)
        torch.manual_seed(0)
        torch.set_num_threads(1)
        width = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
        eyes = CLIPVisionConfig(**width, num_attention_heads=2, image_size=_SIZE, patch_size=_PATCH)
        words = LlamaConfig(
            **width, num_attention_heads=2, vocab_size=_SHOWN + 1, max_position_embeddings=8192
        )
        config = LlavaConfig(vision_config=eyes, text_config=words, image_token_index=_SHOWN)
        self.model = LlavaForConditionalGeneration(config).eval()
        # So that what it sees counts for as much as what it reads.
        for weights in self.model.parameters():
            if weights.ndim > 1:
                torch.nn.init.normal_(weights, std=0.4)

    def reply(self, body):
        self.answer = self.step(body["messages"])
        return super().reply(body)

    def step(self, messages):
        """Return the answer to a conversation."""
        ids, pictures = [], []
        for message in messages:
            seen = pictures_in(message)
            pictures += seen
            content = message["content"]
            text = content if isinstance(content, str) else content[0]["text"]
            ids += [*text.encode()[-40:], *[_SHOWN] * (len(seen) * (_SIZE // _PATCH) ** 2)]
        if not pictures:  # whether it answers at all
            return STEPS[0]
        small = [Image.fromarray(p).resize((_SIZE, _SIZE)) for p in pictures]
        pixels = torch.tensor(np.stack(small)).permute(0, 3, 1, 2) / 127.5 - 1
        with torch.no_grad():
            seen = self.model(input_ids=torch.tensor([ids]), pixel_values=pixels.float())
        return max(STEPS, key=lambda step: seen.logits[0, -1, ord(step[0])].item())
