#!/usr/bin/env bash
# Draws for the announcements on the branch that is checked out, and pushes the draws. The workflow
# `draw` calls it. An announcement that is refused ends it with an exit code that is not 0, after
# the others' draws.
set -euo pipefail
cd "$(git rev-parse --show-toplevel)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# -I: `python -m` would otherwise prefer a pip.py or venv.py in the folder where this is called.
python3 -I -m venv "$work/venv"
install=("$work/venv/bin/python" -I -m pip --disable-pip-version-check -q install)
"${install[@]}" --require-hashes --only-binary :all: -r .github/entry-requirements.txt
mkdir "$work/source"
git archive HEAD | tar -x -C "$work/source"
"${install[@]}" --no-deps --no-build-isolation "$work/source"

export GIT_AUTHOR_NAME="github-actions[bot]" GIT_COMMITTER_NAME="github-actions[bot]"
export GIT_AUTHOR_EMAIL="41898282+github-actions[bot]@users.noreply.github.com"
export GIT_COMMITTER_EMAIL=$GIT_AUTHOR_EMAIL
mkdir -p leaderboard/draws
status=0
"$work/venv/bin/ragen-bench" leaderboard draw leaderboard || status=$?
git add leaderboard/draws
if ! git diff --cached --quiet; then
    git commit -q -m "Draws for the announcements of the leaderboard"
    # The branch may move before the push. Of two draws for one announcement the one that was pushed
    # stays: in a rebase, "ours" is the branch.
    pushed=
    for _ in 1 2 3; do
        if git pull -q --rebase -X ours && git push -q; then pushed=1; break; fi
    done
    [ -n "$pushed" ]
fi
exit "$status"
