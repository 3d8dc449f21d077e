#!/usr/bin/env bash
# Verifies the entry that a branch adds to the leaderboard, with the code of the branch that it is to
# be merged into: nothing that a pull request brings is run. The workflow `entry` calls it; so can
# you, from a checkout of the base:
#     .github/verify_entry.sh BASE HEAD     # two commits of this repository
set -euo pipefail
base=$(git rev-parse --verify --end-of-options "${1:?give the commit that the branch is to be merged into}^{commit}")
head=$(git rev-parse --verify --end-of-options "${2:?give the last commit of the branch}^{commit}")
cd "$(git rev-parse --show-toplevel)"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/base"
git archive "$base" | tar -x -C "$work/base"
# -I: `python -m` would otherwise prefer a pip.py or venv.py in the folder where this is called.
python3 -I -m venv "$work/venv"
install=("$work/venv/bin/python" -I -m pip --disable-pip-version-check -q install)
"${install[@]}" --require-hashes --only-binary :all: -r "$work/base/.github/entry-requirements.txt"
"${install[@]}" --no-deps --no-build-isolation "$work/base"
# Nothing that another run kept is believed.
RAGEN_RECOMPUTE=1 "$work/venv/bin/ragen-bench" leaderboard check "$base" "$head"
