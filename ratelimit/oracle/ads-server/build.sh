#!/bin/sh
# Prints the path of a configuration server made with go-control-plane, and builds it first if it is not there yet. Needs Go, and a Go module proxy the
# first time. The result is kept in the cache folder under the checksum of what it is made from.
set -eu
cd "$(dirname "$0")"
key=$(cat main.go go.mod go.sum build.sh | cksum | cut -d ' ' -f 1)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/weir/ads-server-$key/bin"
result="$folder/ads-server"
if [ ! -x "$result" ]; then
  if ! command -v go >/dev/null 2>&1; then
    echo "Cannot build the configuration server of the tests: there is no Go on the path (go.mod names the version it needs)" >&2
    exit 3
  fi
  mkdir -p "$folder"
  fresh="$folder/.ads-server.$$"
  trap 'rm -f "$fresh"' EXIT
  # Only the module's own files count, whatever workspace or vendor folder the machine has set.
  GOWORK=off GOFLAGS="${GOFLAGS:+$GOFLAGS }-mod=readonly" go build -trimpath -ldflags="-s -w" -o "$fresh" .
  mv "$fresh" "$result"
fi
echo "$result"
