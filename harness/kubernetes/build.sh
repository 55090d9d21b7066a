#!/bin/sh
# Prints the folder of the programs of a cluster (etcd, etcdctl, kube-apiserver, kubectl, kube-controller-manager, kube-scheduler, kubelet, kube-proxy, kwok), and builds first what is not
# there yet: about twenty-five minutes the first time, half a minute while Go remembers. Needs Go, and a Go module proxy the first time. The folder is in the cache folder,
# named after the checksum of what it is made from. With the name of a folder here, such as 1.31, kube-apiserver, kube-controller-manager and kube-scheduler are of that
# version (ten minutes more the first time), kubelet and kube-proxy are absent, and the others are links to the same programs.
set -eu
cd "$(dirname "$0")"
version=${1:-}
key=$(cat go.mod go.sum tools.go build.sh ${version:+"$version/go.mod" "$version/go.sum" "$version/tools.go"} | cksum | cut -d ' ' -f 1)
folder="${XDG_CACHE_HOME:-$HOME/.cache}/weir/kubernetes-${version:+$version-}$key"
export CGO_ENABLED=0 GOWORK=off GOFLAGS="-buildvcs=false -mod=readonly"

version_of() { go list -m -f '{{.Version}}' "$1"; }

# The programs report their version, and kubectl compares it with the server's: it is set at link time, as their own builds do.
build() { # name package
  [ -x "$folder/$1" ] && return
  if ! command -v go >/dev/null 2>&1; then
    echo "Cannot build $1: there is no Go on the path (go.mod names the version it needs)" >&2
    exit 3
  fi
  kubernetes=$(version_of k8s.io/kubernetes)
  minor=${kubernetes#v1.}
  about=k8s.io/component-base/version
  echo "Building $1 ($2)" >&2
  flags=
  if [ "$1" = kwok ]; then flags="-X sigs.k8s.io/kwok/pkg/consts.Version=$(version_of sigs.k8s.io/kwok)"; fi
  mkdir -p "$folder"
  # Go writes to the place it is given as it goes: a broken build must not leave a program.
  go build -trimpath -o "$folder/.$1.$$" -ldflags "-s -w -X $about.gitVersion=$kubernetes -X $about.gitMajor=1 -X $about.gitMinor=${minor%%.*} \
    -X $about.gitTreeState=clean -X $about.buildDate=1970-01-01T00:00:00Z $flags" "$2"
  mv "$folder/.$1.$$" "$folder/$1"
}

if [ -n "$version" ]; then
  shared=$(sh build.sh)
  mkdir -p "$folder"
  for program in etcd etcdctl kubectl kwok; do ln -sf "$shared/$program" "$folder/$program"; done
  cd "$version"
else
  build etcd go.etcd.io/etcd/server/v3
  build etcdctl go.etcd.io/etcd/etcdctl/v3
  build kubectl k8s.io/kubernetes/cmd/kubectl
  build kubelet k8s.io/kubernetes/cmd/kubelet
  build kube-proxy k8s.io/kubernetes/cmd/kube-proxy
  build kwok sigs.k8s.io/kwok/cmd/kwok
fi
build kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver
build kube-controller-manager k8s.io/kubernetes/cmd/kube-controller-manager
build kube-scheduler k8s.io/kubernetes/cmd/kube-scheduler
echo "$folder"
