#!/bin/sh
# Prints the path of a file with Envoy's published descriptors, and makes it first if it is not there yet. Needs Go, and a Go module proxy the first
# time. The result is kept in the cache folder under the checksum of what it is made from.
set -eu
cd "$(dirname "$0")"
key=$(cat main.go go.mod go.sum build.sh | cksum | cut -d ' ' -f 1)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/weir/envoy-descriptors-$key"
result="$folder/descriptors.binpb"
if [ ! -s "$result" ]; then
  if ! command -v go >/dev/null 2>&1; then
    echo "Cannot make Envoy's descriptors: there is no Go on the path (go.mod names the version it needs)" >&2
    exit 3
  fi
  mkdir -p "$folder"
  fresh="$folder/.descriptors.$$"
  trap 'rm -f "$fresh"' EXIT
  # Only the module's own files count, whatever workspace or vendor folder the machine has set.
  GOWORK=off GOFLAGS="${GOFLAGS:+$GOFLAGS }-mod=readonly" go run . >"$fresh"
  mv "$fresh" "$result"
fi
echo "$result"
