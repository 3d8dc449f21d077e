from ragen_envs.feedback import Lines, feedback

NAMES = ("Up", "Left")


def test_lines_are_those_of_feedback_and_bounded():
    lines = Lines()
    for left in range(10_000):
        turn = NAMES, (0, 1), 1, True, False, -30, 4, left
        assert lines[turn] == lines[turn] == feedback(turn)
        assert lines[turn].endswith(f"Reward: -0.3. Left: 4 turns, {left} actions.")
    assert 0 < len(lines) <= 4096
