# Helpers that make one node faulty, and sound again.
# shellcheck shell=bash
# shellcheck disable=SC2154  # CLUSTER_DIR comes from cluster_up

# fault NODE LINE: see fault/shim.c. It is in force for processes that start from now on.
fault() {
  [ -e "$CLUSTER_DIR/srv/shim.so" ] \
    || gcc -O2 -shared -fPIC -o "$CLUSTER_DIR/srv/shim.so" "$CLUSTER_TESTS/fault/shim.c" -ldl || return 1
  lab on "$1" bash -c 'echo "$0" > /run/lab/fault; chmod 644 /run/lab/fault; echo /srv/shim.so > /etc/ld.so.preload' "$2"
}

no_fault() { lab on "$1" bash -c ': > /etc/ld.so.preload; rm -f /run/lab/fault'; }

# on_disk_full NODE PLACE: a file system of 1 MB there. no_disk_full undoes it.
disk_full() { lab on "$1" bash -c 'mkdir -p "$0" && mount -t tmpfs -o size=1m,mode=1777 small "$0"' "$2"; }
no_disk_full() { lab on "$1" bash -c 'umount "$0"' "$2"; }

# place PATH: a directory of alice's on every node, below /tmp. no_place removes it.
place() { local node; for node in "${NODES[@]}"; do lab on "$node" -u alice mkdir -p "$1"; done; }
no_place() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" bash -c 'umount "$0" 2>/dev/null; rm -rf --one-file-system "$0"' "$1"; done
}

# hide NODE FILE: on this node alone an empty directory lies over the file's.
hide() { lab on "$1" bash -c 'mkdir -p /run/lab/empty && mount --bind /run/lab/empty "$0"' "${2%/*}"; }
show() { lab on "$1" umount "${2%/*}"; }

# unreachable NODE [udp]: everything of stagecast's is dropped; Slurm goes through.
unreachable() {
  local proto
  for proto in ${2:-tcp udp}; do
    lab on "$1" iptables -w -A INPUT -i eth0 -p "$proto" --dport 6829:6893 -j DROP
    lab on "$1" iptables -w -A OUTPUT -o eth0 -p "$proto" --dport 6829:6893 -j DROP
  done
}
reachable() { lab on "$1" iptables -w -F; }

restart_daemon() {
  lab stop "$1" stagecastd || true
  start_daemon "$1"
}

start_daemon() {
  local before
  before=$(grep -cw ready "$CLUSTER_DIR/log/stagecastd-$1.log")
  lab start "$1" stagecastd
  wait_for 10 daemon_said_ready "$1" "$before"
}
daemon_said_ready() { [ "$(grep -cw ready "$CLUSTER_DIR/log/stagecastd-$1.log")" -gt "$2" ]; }

# heal: after a test that may have failed half-way, every node is well again.
heal() {
  local node
  lab exec pkill -CONT slurmctld
  for node in "${NODES[@]}"; do
    lab on "$node" bash -c ': > /etc/ld.so.preload; rm -f /run/lab/fault; iptables -w -F
      [ ! -e /run/lab/conf ] || mv /run/lab/conf /etc/stagecast/stagecast.conf
      umount /srv/stagecast/lib/slurm/stagecast.so 2>/dev/null
      pkill -CONT stagecast; kill -0 "$(cat /run/lab/stagecastd.pid)" 2>/dev/null' || start_daemon "$node"
  done
  true
}

# receiving NODE: a worker there writes the file data of a job.
receiving() { lab on "$1" bash -c 'ls /var/spool/stagecast/*/.data.stagecast.*'; }

# Submits a staging to four nodes that takes seconds at 40 Mbit/s, and returns in the middle of it.
begin() {
  input data 20000000
  script 'echo SCRIPT; srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_for 40 receiving n3
}
