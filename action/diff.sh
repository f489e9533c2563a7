#!/usr/bin/env bash
# Compares two commits of the repository that is checked out. Everything comes by the environment:
# OOMLINT_BASE, OOMLINT_HEAD, OOMLINT_ARGUMENTS (one a line), OOMLINT_TAG, OOMLINT_VERSION; OOMLINT replaces the program.
set -euo pipefail

[[ ${OOMLINT_VERSION:=latest} =~ ^(latest|next|[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?)$ ]] || {
  echo "::error::\"$OOMLINT_VERSION\" is no version of oomlint."
  exit 2
}
for commit in "${OOMLINT_BASE:-}" "${OOMLINT_HEAD:-}"; do
  [[ $commit =~ ^[0-9a-f]{40}([0-9a-f]{24})?$ ]] || {
    echo "::error::base and head are full names of commits, not \"$commit\"."
    exit 2
  }
  # A shallow checkout has the last commit alone.
  git cat-file -e "$commit^{commit}" 2>/dev/null || git fetch --quiet --no-tags --depth=1 origin "$commit"
done
arguments=()
while IFS= read -r argument; do
  [[ -z $argument ]] || arguments+=("$argument")
done <<<"${OOMLINT_ARGUMENTS:-}"
report=${RUNNER_TEMP:-$(mktemp -d)}/oomlint-diff.md
program=(${OOMLINT:-npx --yes "oomlint@$OOMLINT_VERSION"})

worse=false
"${program[@]}" diff "$OOMLINT_BASE..$OOMLINT_HEAD" --format markdown --tag "${OOMLINT_TAG:-default}" \
  --output "$report" --fail-on-worse "${arguments[@]}" || {
  code=$?
  [[ $code == 1 ]] || exit "$code"
  worse=true
}
cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
{
  echo "report=$report"
  echo "worse=$worse"
} >>"${GITHUB_OUTPUT:-/dev/stdout}"
