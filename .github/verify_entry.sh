#!/usr/bin/env bash
# Verifies the entry that a branch adds to the leaderboard, with the code of the branch that it is to
# be merged into: nothing that a pull request brings is run. The workflow `entry` calls it; so can you:
#     .github/verify_entry.sh BASE HEAD     # two commits of this repository
set -euo pipefail
base=${1:?give the commit that the branch is to be merged into}
head=${2:?give the last commit of the branch}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/base"
git archive "$base" | tar -x -C "$work/base"
python3 -m venv "$work/venv"
"$work/venv/bin/python" -m pip --disable-pip-version-check -q install \
    -c "$work/base/constraints.txt" "$work/base[bench]"
"$work/venv/bin/ragen-bench" leaderboard check "$base" "$head"
