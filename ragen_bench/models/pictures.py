"""Pictures of boards, in the form in which vision models are sent them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragen_bench.errors import missing_extra
from ragen_bench.models.base import Message


def encode_png(pixels: NDArray[np.uint8]) -> bytes:
    """Return RGB pixels of shape (height, width, 3) as a PNG file.

    Raises:
        UserError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as missing:
        raise missing_extra(missing, "openai") from missing
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def to_content_parts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return a conversation whose pictures are content parts of OpenAI's protocol.

    A message without pictures keeps its text as it is.
    """
    converted: list[dict[str, Any]] = []
    for message in messages:
        content: Any = message["content"]
        if pictures := message.get("pictures"):
            content = [{"type": "text", "text": content}, *map(_image_part, pictures)]
        converted.append({"role": message["role"], "content": content})
    return converted


def _image_part(picture: bytes) -> dict[str, Any]:
    url = f"data:image/png;base64,{b64encode(picture).decode()}"
    return {"type": "image_url", "image_url": {"url": url}}
