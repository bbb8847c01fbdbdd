# Makes the emulated hosts of the engine's own benchmarks.
#
# A source and NODES receivers, each in a network namespace on one bridge, and their files in $work: in
# memory, or below $FILES_IN. All of it lives in namespaces of the script that calls, and ends with it.
# shellcheck shell=bash

# shellcheck source=tests/net/network.sh
. "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../net/network.sh"

# hosts_inside SCRIPT ARGS...: runs the script again, in namespaces of its own.
hosts_inside() {
  [ "$(id -u)" = 0 ] || { echo "$(basename "$1"): needs root" >&2; exit 1; }
  [ -z "${HOSTS_INSIDE:-}" ] || return 0
  export HOSTS_INSIDE=yes PYTHONDONTWRITEBYTECODE=1
  exec unshare --net --mount --pid --fork --kill-child --mount-proc "$@"
}

# hosts_up: NODES + 1 of them, as NET_MTU, NET_RATE and NET_LOSS say. Names $work.
hosts_up() {
  local node
  if [ -n "${FILES_IN:-}" ]; then
    work=$(mktemp -d "$FILES_IN/stagecast-bench.XXXXXX")
    trap 'rm -rf "$work"' EXIT
  else
    work=$(mktemp -d)
    trap 'umount -l "$work"; rmdir "$work"' EXIT
    mount -t tmpfs -o size=100%,nr_inodes=0 bench "$work"
  fi
  net_switch
  : > "$work/hosts"
  for ((node = 0; node <= NODES; node++)); do
    unshare --net sleep infinity &
    net_await $!
    net_host "n$node" $! "$(net_address "$node")"
    net_address "$node" >> "$work/hosts"
    echo $! >> "$work/pids"
  done
  hosts_acquaint
}

# Each gets every other's hardware address for good: what they learn by themselves shares one table of 1024 entries in
# the kernel, whatever the namespace, and where 33 hosts talk to each other some stop receiving.
hosts_acquaint() {
  local pid address link
  while read -r pid && read -r address <&3; do
    link=$(in_net "$pid" ip -o link show eth0 | sed 's/.*link.ether \([^ ]*\).*/\1/')
    echo "neigh replace $address lladdr $link dev eth0 nud permanent"
  done < "$work/pids" 3< "$work/hosts" > "$work/neighbours"
  while read -r pid && read -r address <&3; do
    grep -vF " $address " "$work/neighbours" | in_net "$pid" ip -batch -
  done < "$work/pids" 3< "$work/hosts"
}

# hosts_page FILE PROGRAM ARGS...: what the program prints is the page FILE, too; none if that is "".
hosts_page() {
  local page=$1
  shift
  "$@" | tee "$work/page"
  [ -z "$page" ] || { mkdir -p "$(dirname "$page")" && cp "$work/page" "$page"; }
}
