#!/bin/sh
# Generates src/generated from protos. With --check compares instead, and lists the files that differ.
set -eu
cd "$(dirname "$0")"
PATH="$PWD/../node_modules/.bin:$PATH"
export PATH
buf lint
if [ "${1:-}" != --check ]; then
  exec buf generate
fi
fresh=$(mktemp -d)
trap 'rm -r "$fresh"' EXIT
# "out" is relative to the folder given by -o, so the result is <folder>/src/generated.
buf generate -o "$fresh"
if ! diff -qr src/generated "$fresh/src/generated"; then
  echo "proto/src/generated is not what the .proto files give: run make generate"
  exit 1
fi
