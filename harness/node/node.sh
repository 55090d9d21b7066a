#!/bin/bash
# PID 1 of a node: containerd, kubelet and kube-proxy in a network, mount and PID namespace of its own. When it is killed, all of it
# and every pod ends. It expects $STATE (a folder on a file system that overlays work on) with kubeconfig, kubelet.yaml, proxy.yaml,
# containerd.toml and cni/, the folder $PROGRAMS, and a network interface eth0, which the parent moves here.
set -euo pipefail
run() { # name command...: restarts nothing; a node with a program that ended is reported by its tests
  local name=$1
  shift
  "$@" >"$STATE/$name.log" 2>&1 </dev/null &
}
ip link set lo up
until ip link show eth0 >/dev/null 2>&1; do sleep 0.02; done
for address in $NODE_ADDRESSES; do
  case $address in *:*) ip addr add "$address" dev eth0 nodad ;; *) ip addr add "$address" dev eth0 ;; esac
done
ip link set eth0 up
# No other machine is in this network, so an address need not be probed before it is used.
sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1 net.ipv6.conf.default.accept_dad=0
for host in $HOST_ADDRESSES; do
  case $host in *:*) ip -6 route add default via "$host" ;; *) ip route add default via "$host" ;; esac
done
sysctl -qw net.bridge.bridge-nf-call-iptables=1 net.bridge.bridge-nf-call-ip6tables=1 || true # Without the module br_netfilter, bridged packets are not filtered.
# A cgroup of its own, which holds every process of every pod; the parent removes it.
for controller in /sys/fs/cgroup/*/; do
  [ -w "$controller/cgroup.procs" ] && mkdir -p "$controller/$CGROUP"
done
# Its pods together weigh as much as eight programs of the machine, each a session of weight 1024 (cgroups version 1):
# with the default, the weight of one, they take minutes to start next to the servers of other tests.
[ -e "/sys/fs/cgroup/cpu/$CGROUP/cpu.shares" ] && echo 8192 >"/sys/fs/cgroup/cpu/$CGROUP/cpu.shares"
for file in cpuset.cpus cpuset.mems; do
  [ -e "/sys/fs/cgroup/cpuset/$file" ] && cat "/sys/fs/cgroup/cpuset/$file" >"/sys/fs/cgroup/cpuset/$CGROUP/$file"
done
# In memory: importing images waits for no disk, and nothing has to be removed.
mkdir -p "$STATE/containerd"
mount -t tmpfs -o size=6g weir "$STATE/containerd"
run containerd containerd --config "$STATE/containerd.toml"
until [ -S "$STATE/containerd.sock" ]; do sleep 0.02; done
run kubelet "$PROGRAMS/kubelet" --config="$STATE/kubelet.yaml" --kubeconfig="$STATE/kubeconfig" --root-dir="$STATE/kubelet" \
  --cert-dir="$STATE/kubelet-certificates" --hostname-override=node-1 --node-ip="$NODE_IPS"
run kube-proxy "$PROGRAMS/kube-proxy" --config="$STATE/proxy.yaml"
while :; do wait -n || true; sleep 1; done # Reaps what its programs leave.
