#!/bin/sh
# Prints the path of the program in a folder of Go, or of a package that its module requires (the second argument), and builds it
# first if it is not there yet: what tests compare ours with, or run next to it. Needs Go, and a Go module proxy the first time.
# The result is kept in the cache folder under the checksum of what it is made from.
set -eu
cd "$1"
name=$(basename "$PWD")
folder="${XDG_CACHE_HOME:-$HOME/.cache}/weir/$name-$(cat ./*.go go.mod go.sum | cksum | cut -d ' ' -f 1)"
if [ ! -x "$folder/$name" ]; then
  if ! command -v go >/dev/null 2>&1; then
    echo "Cannot build $PWD: there is no Go on the path (go.mod names the version it needs)" >&2
    exit 3
  fi
  mkdir -p "$folder"
  fresh="$folder/.$name.$$"
  trap 'rm -f "$fresh"' EXIT
  # Only the module's own files count, whatever workspace or vendor folder the machine has set.
  GOWORK=off GOFLAGS="${GOFLAGS:+$GOFLAGS }-mod=readonly" go build -trimpath -ldflags="-s -w" -o "$fresh" "${2:-.}"
  mv "$fresh" "$folder/$name"
fi
echo "$folder/$name"
