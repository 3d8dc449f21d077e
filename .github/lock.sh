#!/usr/bin/env bash
# Writes the requirements of the workflows anew, with the hash of every file that may be installed.
# Needs uv. Call it after a change of constraints.txt or of what these packages ask for:
#     .github/lock.sh
set -euo pipefail
cd "$(dirname "$0")/.."

lock() { # NAME PYTHON REQUIREMENTS...
    {
        echo "# Written by .github/lock.sh."
        uv pip compile --quiet --universal --generate-hashes --no-header --no-annotate \
            --python-version "$2" --constraint constraints.txt "${@:3}"
    } > ".github/$1-requirements.txt.new"
    mv ".github/$1-requirements.txt.new" ".github/$1-requirements.txt"
}

# hatchling builds the package, without a download of its own.
lock entry 3.11 --extra bench pyproject.toml - <<< "hatchling"
lock release 3.13 - <<< $'build\ntwine\nhatchling'
