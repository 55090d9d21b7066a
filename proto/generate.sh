#!/bin/sh
# Generates src/generated from protos. With an argument, writes there instead (a check compares the two).
set -eu
cd "$(dirname "$0")"
PATH="$PWD/../node_modules/.bin:$PATH"
export PATH
buf lint
if [ $# -gt 0 ]; then
  # "out" is relative to the folder given by -o, so the result is <folder>/src/generated.
  exec buf generate -o "$1"
fi
exec buf generate
