"""What a console prints reaches its user whatever else a process holds back."""

import contextlib
import io

from ragen_bench.terminal.console import plain_console


def test_a_later_redirection_takes_nothing_from_the_console(capsys):
    console = plain_console()
    with contextlib.redirect_stdout(io.StringIO()) as held_back:
        console.print("Iteration 1: held-out success 0.500")
    assert capsys.readouterr().out == "Iteration 1: held-out success 0.500\n"
    assert held_back.getvalue() == ""
