# Helpers of the tests of `stagecast push`.
# shellcheck shell=bash
# shellcheck disable=SC2154  # WORK, T, NODES: see cluster.bash

push_begins() {
  local node
  test_begins
  for node in "${NODES[@]}"; do lab on "$node" mkdir -p /var/tmp/images; done
}

push_ends() {
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" bash -c 'umount /var/tmp/images 2>/dev/null; rm -rf /var/tmp/images'
  done
  heal
  test_ends
}

# push NODE ARGS...: as root on that node; the words are in $WORK/said.
push() {
  local node=$1
  shift
  lab on "$node" -d "$T" timeout -k 5 60 /srv/stagecast/bin/stagecast push "$@" > "$WORK/said" 2>&1
}

# has NAME NODE...: these nodes have that file, and nothing else is below PushRoots.
has() {
  local name=$1 node sum
  shift
  sum=$(sha256sum < "$WORK/$name")
  for node; do
    [ "$(lab on "$node" sha256sum "/var/tmp/images/$name" | cut -c 1-64)" = "${sum:0:64}" ] || { echo "not on $node"; return 1; }
    [ "$(lab on "$node" find /var/tmp/images -mindepth 1)" = "/var/tmp/images/$name" ] || { echo "more on $node"; return 1; }
  done
}

empty_on() {
  local node
  for node; do [ -z "$(lab on "$node" find /var/tmp/images -mindepth 1)" ] || { echo "something on $node"; return 1; }; done
}
