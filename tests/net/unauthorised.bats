# Tests that an unauthorised peer can neither disturb the engine nor read what it carries.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 4 --rate 200mbit; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() { engine_ends; }

# A pattern that no compressor or chance makes: the file is full of it.
marked_source() {
  yes THE-SECRET-OF-THE-FILE | head -c 10000000 > "$WORK/source"
  chown 2001:2001 "$WORK/source"
}

@test "garbage at the group and at every port of it changes nothing, and is counted" {
  source_file 20000000
  group --rate-max=100mbit
  wait_for 10 group_seen n1
  local port
  for port in $PORTS; do
    lab on login timeout 10 /srv/garbage.py "$GROUP" "$port" 3000 < /dev/null > /dev/null 3>&- &
    lab on n3 -u bob timeout 10 /srv/garbage.py 10.77.1.2 "$port" 3000 < /dev/null > /dev/null 3>&- &
  done
  ends
  received
  [ "$(json n1 packets_rejected)" -gt 0 ]
}

@test "packets replayed and bent on the way change nothing" {
  source_file 10000000
  capture login
  group --rate-max=60mbit
  wait_for 10 group_seen n1
  wait_for 10 bash -c "[ \$(stat -c %s '$WORK/login.pcap') -gt 200000 ]"
  install -m 644 "$WORK/login.pcap" "$CLUSTER_DIR/srv/capture"
  lab on login timeout 20 /srv/replay.py /srv/capture < /dev/null > "$WORK/replayed" 3>&-
  lab on login pkill -INT tcpdump
  ends
  received
  grep -Eq 'replayed [1-9]' "$WORK/replayed"
}

@test "with encrypt no byte of the file or of the key crosses any link" {
  marked_source
  local node
  for node in login n0 n1; do capture "$node"; done
  group --rate-max=150mbit
  ends
  received
  for node in login n0 n1; do lab on "$node" pkill -INT tcpdump; done
  for node in login n0 n1; do wait_for 10 no_tcpdump "$node"; done
  for node in login n0 n1; do
    [ "$(stat -c %s "$WORK/$node.pcap")" -gt 1000000 ]
    run ! grep -aq 'SECRET-OF-THE-FILE' "$WORK/$node.pcap"
    "$CLUSTER_TESTS/attack/holds.py" "$WORK/key" "$WORK/$node.pcap" 4
  done
}

@test "with auth an unauthorised peer can read but not change; none is for isolated fabrics" {
  marked_source
  capture login
  group --rate-max=150mbit --protection=auth
  ends
  received
  lab on login pkill -INT tcpdump
  grep -aq 'SECRET-OF-THE-FILE' "$WORK/login.pcap"   # so the test above can fail
}

@test "a host with another key takes no part" {
  source_file 2000000
  LIMIT=10
  head -c 32 /dev/urandom > "$WORK/otherkey"
  chown 2001:2001 "$WORK/otherkey"
  engine n1 --dest=/tmp/received.copy
  engine n2 --dest=/tmp/received.copy
  KEY=$T/otherkey engine n3 --dest=/tmp/received.copy
  engine n0 --source="$T/source"
  ends
  all_fail
  absent n3
}
