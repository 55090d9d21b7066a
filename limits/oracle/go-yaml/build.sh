#!/bin/sh
# Prints the path of a program that reads rule files with gopkg.in/yaml.v2, and builds it first if it is not there yet. Needs Go, and a Go module proxy the
# first time. The result is kept in the cache folder under the checksum of what it is made from.
set -eu
cd "$(dirname "$0")"
key=$(cat main.go go.mod go.sum build.sh | cksum | cut -d ' ' -f 1)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/weir/go-yaml-$key/bin"
result="$folder/go-yaml"
if [ ! -x "$result" ]; then
  if ! command -v go >/dev/null 2>&1; then
    echo "Cannot build the YAML reader of the tests: there is no Go on the path (go.mod names the version it needs)" >&2
    exit 3
  fi
  mkdir -p "$folder"
  fresh="$folder/.go-yaml.$$"
  trap 'rm -f "$fresh"' EXIT
  # Only the module's own files count, whatever workspace or vendor folder the machine has set.
  GOWORK=off GOFLAGS="${GOFLAGS:+$GOFLAGS }-mod=readonly" go build -trimpath -ldflags="-s -w" -o "$fresh" .
  mv "$fresh" "$result"
fi
echo "$result"
