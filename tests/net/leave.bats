# Tests on real sockets that a receiver whose link a TCP flow shares leaves the group, and that
# the switch stops forwarding it there.
#
# The switch snoops and queries listeners, as real ones do (in the other tests it floods). Links
# have 100 Mbit/s with 40 ms of queue; the flow (flow.py, the kernel's CUBIC) comes from
# "login", whose own link has no limit.

bats_require_minimum_version 1.5.0
load engine

LEAVER=n6

setup_file() {
  engine_up 7 --rate 100mbit || return 1
  install -m 755 "$BATS_TEST_DIRNAME/flow.py" "$CLUSTER_DIR/srv/"
  # Hundredths of seconds. The first query's answers are waited for before anything is filtered.
  in_switch ip link set br0 type bridge mcast_query_response_interval 100 mcast_startup_query_interval 200 mcast_last_member_interval 10
  in_switch ip link set br0 type bridge mcast_snooping 1 mcast_querier 1
  # Until then the switch floods, reports too, and a host that has heard another's says nothing when it leaves (RFC 2236, 3).
  sleep 2
}
teardown_file() { cluster_down; }
setup() {
  local node
  engine_begins
  for node in n1 $LEAVER; do lab on "$node" iptables -w -t raw -A PREROUTING -p udp -d 239.0.0.0/8 || return 1; done
}
teardown() {
  local node
  in_switch ip link set br0 type bridge mcast_snooping 1
  for node in n1 $LEAVER; do lab on "$node" iptables -w -t raw -F PREROUTING; done
  if [ -z "${BATS_TEST_COMPLETED:-}" ]; then tail -n 400 "$WORK/flow" | sed 's/^/# flow: /'; fi
  for node in login $LEAVER; do lab on "$node" pkill -KILL -f flow.py || true; done
  engine_ends
}


# group_bytes NODE: the group's bytes that the host's link brought, with or without listeners.
group_bytes() { lab on "$1" iptables -w -t raw -nvxL PREROUTING | awk '/239\.0\.0\.0/ { print $2 }'; }

enough_sent() { [ "$(group_bytes n1)" -gt 4000000 ]; }

# beside_flow ARGS...: a group, and a flow into LEAVER from when some of the file was sent until all have ended.
beside_flow() {
  source_file 75000000
  lab on "$LEAVER" python3 /srv/flow.py receive 5001 < /dev/null > "$WORK/flow" 2>&1 3>&- &
  wait_for 10 grep -q listening "$WORK/flow"
  group "$@"
  wait_for 20 enough_sent
  lab on login python3 /srv/flow.py send "10.77.1.$((${LEAVER#n} + 1))" 5001 "$LIMIT" < /dev/null > /dev/null 2>&1 3>&- &
  ends
  received
}

# left NODE: what it says of having left.
left() { python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).read()).get("group_left", ""))' "$WORK/$1.json"; }

others_stay() {
  local node
  for node in n1 n2 n3 n4 n5; do
    [ -z "$(left "$node")" ] || { echo "$node: $(left "$node")"; return 1; }
    [ "$(json "$node" packets_repaired)" -lt 5000 ] || { echo "$node repaired $(json "$node" packets_repaired)"; return 1; }
  done
}

# It said so, the kernel's list lacked the group for a while, and the switch sent it less than others.
leaver_left() {
  [[ $(left $LEAVER) == *"left the multicast group"* ]] || { echo "$LEAVER did not leave"; return 1; }
  awk 'NF == 4 && $4 == 0 { away = 1 } $4 == 1 && away { back = 1 } END { exit !back }' "$WORK/flow" || {
    echo "$LEAVER was in the group all the time"; return 1
  }
  local own all
  own=$(group_bytes $LEAVER)
  all=$(group_bytes n1)
  [ "$own" -lt $((all * 8 / 10)) ] || { echo "the switch brought $LEAVER $own bytes of $all"; return 1; }
}

@test "a host that shares its link with a TCP flow leaves, fetches all, and no other host notices" {
  beside_flow --group-leave=congested
  leaver_left
  others_stay
}

@test "over four flows as well" {
  beside_flow --group-leave=congested --flows=4
  leaver_left
  others_stay
}

@test "where the site does not allow it, it stays" {
  beside_flow --group-leave=never
  [ -z "$(left $LEAVER)" ]
  [ "$(group_bytes $LEAVER)" -gt $(($(group_bytes n1) / 2)) ]
}

@test "where the switch floods the group it leaves once at most, and has all the same" {
  in_switch ip link set br0 type bridge mcast_snooping 0
  beside_flow --group-leave=congested
  case $(left $LEAVER) in "" | *" once,"*) ;; *) echo "$LEAVER: $(left $LEAVER)"; return 1 ;; esac
  others_stay
}
