# Functions that make a network of emulated hosts.
#
# Every host is a network namespace with one veth, eth0, whose other end is a port of one
# bridge. The bridge floods multicast (IGMP snooping off), like a switch without a querier.
# Further rails, eth1 and on, each go to a bridge of their own. These functions run in the
# network namespace that holds the bridges; hosts are named by a process in theirs.
# shellcheck shell=bash

NET_RATE='' NET_LOSS='' NET_MTU=1500 NET_RAILS=1   # "200mbit" or "", a probability or "", bytes, links a host
# BURST=: so much a link lets pass at once, faster than at its rate.

# Writes to a key of /proc/sys that may be absent.
net_sysctl() { { echo "$2" > "/proc/sys/$1"; } 2>/dev/null || true; }

net_switch() {
  local rail
  ip link set lo up || return 1
  for ((rail = 0; rail < NET_RAILS; rail++)); do
    ip -batch - <<LINES || return 1
link add br$rail mtu $NET_MTU type bridge stp_state 0 forward_delay 0 mcast_snooping 0
link set br$rail up
LINES
  done
  # What the bridge carries must not pass the host's packet filter.
  local family
  for family in iptables ip6tables arptables; do net_sysctl "net/bridge/bridge-nf-call-$family" 0; done
  net_sysctl net/ipv6/conf/all/disable_ipv6 1
}

# net_host NAME PID ADDRESS [plain]: links for the host that process PID lives in; of ADDRESS 10.77.x.y
# rail k has 10.(77+k).x.y. A plain host's have neither rate nor loss.
net_host() {
  local rail
  for ((rail = 0; rail < NET_RAILS; rail++)); do
    net_link "$rail" "$1" "$2" "10.$((77 + rail)).${3#10.77.}" "${4:-}" || return 1
  done
  in_net "$2" ip -batch - <<LINES
link set lo up
route add 224.0.0.0/4 dev eth0
LINES
}

net_link() {
  local eth=eth$1 port=p$1-$2 pid=$3 address=$4 rate=$NET_RATE loss=$NET_LOSS
  [ "$5" = plain ] && rate='' loss=''
  ip -batch - <<LINES || return 1
link add $port mtu $NET_MTU type veth peer name $eth mtu $NET_MTU netns $pid
link set $port master br$1 up
LINES
  in_net "$pid" ip -batch - <<LINES || return 1
addr add $address/16 brd + dev $eth
link set $eth up
LINES
  # One lost packet must be one packet: 64 KB segments would be lost as a whole.
  if [ -n "$NET_LOSS" ]; then
    ethtool -K "$port" tso off gso off gro off tx-udp-segmentation off > /dev/null 2>&1
    in_net "$pid" ethtool -K "$eth" tso off gso off gro off tx-udp-segmentation off > /dev/null 2>&1
  fi
  if [ -n "$rate" ]; then
    tc qdisc add dev "$port" root tbf rate "$rate" burst "${BURST:-128kb}" latency 30ms || return 1
    in_net "$pid" tc qdisc add dev "$eth" root tbf rate "$rate" burst "${BURST:-128kb}" latency 30ms || return 1
  fi
  if [ -n "$loss" ]; then
    in_net "$pid" iptables -w -t raw -A PREROUTING -i "$eth" \
      -m statistic --mode random --probability "$loss" -j DROP || return 1
  fi
}

in_net() { local pid=$1; shift; nsenter --target "$pid" --net -- "$@"; }

# The address of node number K (0..), the same in every lab.
net_address() { echo "10.77.$(($1 / 250 + 1)).$(($1 % 250 + 1))"; }

# "1%" or "0.01" to a probability; "0" and "" to nothing.
net_probability() {
  case $1 in
    '' | 0 | 0%) ;;
    *%) awk -v percent="${1%\%}" 'BEGIN { printf "%.6f\n", percent / 100 }' ;;
    *) echo "$1" ;;
  esac
}

# Waits until process PID has left our network namespace for its own.
net_await() {
  local i ours
  ours=$(readlink /proc/self/ns/net)
  for ((i = 0; i < 200; i++)); do
    [ "$(readlink "/proc/$1/ns/net" 2>/dev/null)" = "$ours" ] || return 0
    sleep 0.02
  done
  return 1
}
