#!/bin/sh
# Checks that this machine has what `make` needs before anything else runs: Node and npm, just to install the packages.
# (The programs themselves run under the Node that is one of those packages.) Needs nothing but sh.
set -eu

# Lowest major version of the machine's own Node that can install the packages; package.json "engines" says the same.
node_minimum=20
# npm before 9 does not know the lock file's settings in .npmrc.
npm_minimum=9

missing=""

# complain WHAT HOW: remembers one missing thing and how to get it.
complain() {
  missing="$missing
  * $1
    $2"
}

# major VERSION: the first number of "v20.1.2" or "10.8.2".
major() {
  printf '%s' "$1" | sed -e 's/^v//' -e 's/\..*//'
}

get_node="Install Node.js $node_minimum or newer with your package manager (apt-get install nodejs npm, dnf install nodejs, brew install node) or a version manager."

if ! command -v node >/dev/null 2>&1; then
  complain "node is not on the PATH" "$get_node"
else
  node_version=$(node --version 2>/dev/null || echo unknown)
  case $(major "$node_version") in
    "" | *[!0-9]*) complain "node does not run: '$(command -v node) --version' said '$node_version'" "$get_node" ;;
    *) [ "$(major "$node_version")" -ge "$node_minimum" ] || complain "node is $node_version, and at least $node_minimum is needed" "$get_node" ;;
  esac
fi

get_npm="It comes with Node.js; on Debian and Ubuntu it is a package of its own: apt-get install npm."

if ! command -v npm >/dev/null 2>&1; then
  complain "npm is not on the PATH" "$get_npm"
else
  npm_version=$(npm --version 2>/dev/null || echo unknown)
  case $(major "$npm_version") in
    "" | *[!0-9]*) complain "npm does not run: '$(command -v npm) --version' said '$npm_version'" "$get_npm" ;;
    *) [ "$(major "$npm_version")" -ge "$npm_minimum" ] || complain "npm is $npm_version, and at least $npm_minimum is needed" "Run: npm install --global npm@$npm_minimum" ;;
  esac
fi

if [ -n "$missing" ]; then
  printf 'This machine lacks something:%s\n' "$missing" >&2
  exit 1
fi
