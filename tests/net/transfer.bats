# Tests that the engine alone brings a file to a group of hosts, with loss and without.

bats_require_minimum_version 1.5.0
load engine

setup_file() { engine_up 5; }
teardown_file() { cluster_down; }
setup() { engine_begins; }
teardown() { engine_ends; }

@test "a file of 20 MB reaches four receivers, and each says how" {
  source_file 20000003
  group --rate-max=400mbit
  ends
  received
  [ "$(rc_of n0)" = 0 ]
  local node key
  for node in "${NODES[@]}"; do
    for key in rank bytes seconds held_at goodput_mbps packets_lost packets_repaired transport digest \
      receive_buffer_asked memory_own memory_sockets; do json "$node" "$key"; done
    [ "$(json "$node" rank)" = "${node#n}" ]
    [ "$(json "$node" bytes)" = 20000003 ]
    [ "$(json "$node" digest)" = "$(json n0 digest)" ]
    [ "$(wc -l < "$WORK/$node.json")" = 1 ]
  done
}

@test "100 MB, as fast as possible: no host holds more than 64 MB for itself" {
  source_file 100000000
  group
  ends
  received
  stayed_small
}

# sent_by SOURCE: bytes of payload that the source's packets had, reckoned from full ones.
sent_by() { echo $(($(json "$1" packets_sent) * $(json "$1" packet_payload))); }

@test "what gives way is compressed on a slow link, noise is not, and --compress=no is obeyed" {
  seq 1 9000000 | head -c 40000000 > "$WORK/source"
  chown 2001:2001 "$WORK/source"
  group --rate-max=200mbit
  ends
  received
  [ "$(json n0 bytes_saved)" -gt 15000000 ]
  [ "$(sent_by n0)" -lt 30000000 ]
  rm -f "$WORK"/n*.rc
  STARTED=()
  group --rate-max=400mbit --compress=no
  ends
  received
  [ "$(json n0 bytes_saved)" = 0 ]
  [ "$(sent_by n0)" -ge 40000000 ]
  rm -f "$WORK"/n*.rc
  STARTED=()
  source_file 10000000
  group --rate-max=400mbit
  ends
  received
  [ "$(json n0 bytes_saved)" = 0 ]
}

@test "sizes around a block: 0, 1, 1 MiB - 1, 1 MiB, 1 MiB + 1 bytes" {
  local size
  for size in 0 1 1048575 1048576 1048577; do
    rm -f "$WORK"/n*.rc
    STARTED=()
    source_file "$size"
    group --rate-max=400mbit
    ends && received || { echo "size $size"; return 1; }
  done
}

@test "protection auth and none carry the same bytes" {
  local protection
  for protection in auth none; do
    rm -f "$WORK"/n*.rc
    STARTED=()
    source_file 3000000
    group --rate-max=400mbit --protection="$protection"
    ends && received || { echo "protection $protection"; return 1; }
  done
}

@test "starting seconds apart is no failure" {
  source_file 1000000
  engine n0 --source="$T/source"
  engine n1 --dest=/tmp/received.copy
  sleep 3   # the point of the test
  local node
  for node in n2 n3 n4; do engine "$node" --dest=/tmp/received.copy; done
  ends
  received
}

@test "a directory reaches them as a tree" {
  mkdir -p "$WORK/source/sub/empty"
  head -c 3000000 /dev/urandom > "$WORK/source/sub/large"
  for i in $(seq 200); do echo "$i" > "$WORK/source/$i"; done
  ln -s sub/large "$WORK/source/link"
  chmod 750 "$WORK/source/sub"
  chown -R 2001:2001 "$WORK/source"
  group
  ends
  local node want
  want=$(tree_digest < /dev/null bash -c "cd '$WORK/source' && $LIST")
  for node in "${NODES[@]:1}"; do
    [ "$(rc_of "$node")" = 0 ]
    [ "$(tree_digest lab on "$node" bash -c "cd /tmp/received.copy && $LIST")" = "$want" ] || { echo "$node has another tree"; false; }
    lab on "$node" rm -r /tmp/received.copy
  done
}
LIST='find . -printf "%P %y %m %l\n" | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum'
tree_digest() { "$@" | sha256sum; }
