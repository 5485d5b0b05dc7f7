#!/usr/bin/env bash
# Announces the images in the file $IMAGES; needs curl and jq, which GitHub's runners have. A repeated call is harmless.
set -euo pipefail

if [[ -z "${ACTIONS_ID_TOKEN_REQUEST_URL:-}" ]]; then
  echo "::error::The job has no permission to get a token. Give it: permissions: {id-token: write}"
  exit 1
fi
base="${TIDEGATE_URL%/}"
audience="$(jq -rn --arg text "$base" '$text | @uri')"
# The headers come from a file: arguments of a command can be read by every process.
token="$(curl --silent --show-error --fail --retry 3 --max-time 20 \
  --header @<(printf 'Authorization: Bearer %s' "$ACTIONS_ID_TOKEN_REQUEST_TOKEN") \
  "$ACTIONS_ID_TOKEN_REQUEST_URL&audience=$audience" | jq -er .value)"
echo "::add-mask::$token"

run="${GITHUB_SERVER_URL}/${GITHUB_REPOSITORY}/actions/runs/${GITHUB_RUN_ID}"
jq --arg run "$run" --arg sequence "${SEQUENCE:-}" \
  '{images: ., run_url: $run} + if $sequence == "" then {} else {sequence: ($sequence | tonumber)} end' "$IMAGES" |
  curl --silent --show-error --fail-with-body --retry 5 --max-time 40 --request PUT \
    --header @<(printf 'Authorization: Bearer %s' "$token") --header 'Content-Type: application/json' --data-binary @- \
    --output announced.json \
    "$base/api/v1/config-updates/$CONFIG_REPOSITORY/sets/$IMAGE_SET/images/$GITHUB_SHA" ||
  { jq -r '"::error::" + .error.message' announced.json 2>/dev/null || cat announced.json; exit 1; }
jq -r .message announced.json
echo "id=$(jq -er .id announced.json)" >> "$GITHUB_OUTPUT"
