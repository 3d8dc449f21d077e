"""Pictures of boards, as vision models are sent them."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ragen_bench.errors import missing_extra
from ragen_bench.models.base import Message


def png(pixels: NDArray[np.uint8]) -> bytes:
    """Return a picture as a PNG file.

    Args:
        pixels: of shape (height, width, 3): red, green and blue.

    Raises:
        UserError: if Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError as missing:
        raise missing_extra(missing, "openai") from missing
    file = BytesIO()
    Image.fromarray(pixels).save(file, "png")
    return file.getvalue()


def with_parts(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return a conversation whose pictures stand beside the texts, as parts of OpenAI's protocol.

    A message without pictures keeps its text as it is.
    """
    return [_with_parts(message) for message in messages]


def _with_parts(message: Message) -> dict[str, Any]:
    text = message["content"]
    content: Any = text
    if pictures := message.get("pictures"):
        content = [{"type": "text", "text": text}, *map(_part, pictures)]
    return {"role": message["role"], "content": content}


def _part(picture: bytes) -> dict[str, Any]:
    address = f"data:image/png;base64,{b64encode(picture).decode()}"
    return {"type": "image_url", "image_url": {"url": address}}
