"""Turns that are made by hand."""

from ragen_bench.runs.schema import TurnRecord


def played_turn(form=True, action=True, read=1, generated=1, reply=None):
    """Return a turn without texts.

    Args:
        form: whether its answer had the form; one that had not was cut.
        action: whether its actions were known.
        read: tokens that the model read.
        generated: tokens that it sampled.
        reply: the opponent's.
    """
    return TurnRecord(
        observation="",
        answer="",
        reasoning="",
        actions=[],
        reward=0.0,
        format_is_valid=form,
        action_is_valid=action,
        answer_is_example=not action,
        finish="stop" if form else "length",
        prompt_tokens=read,
        completion_tokens=generated,
        opponent=reply,
    )
