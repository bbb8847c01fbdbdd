# Makes nodes that can be reached by ssh.
#
# A real sshd on each node that takes alice's key only; her own ssh asks no questions. All of it in the cluster's own
# files: neither the machine's keys nor its sshd are touched.
# shellcheck shell=bash
# shellcheck disable=SC2154  # ALICE, CLUSTER_DIR: see cluster.bash

sshd_keys() {
  local place=$ALICE/.ssh
  install -d -m 700 "$place" "$CLUSTER_DIR/srv/sshd"
  ssh-keygen -q -t ed25519 -N '' -f "$CLUSTER_DIR/srv/sshd/host" || return 1
  ssh-keygen -q -t ed25519 -N '' -f "$place/id_ed25519" || return 1
  cp "$place/id_ed25519.pub" "$place/authorized_keys"
  printf '%s\n' 'Host *' ' StrictHostKeyChecking no' ' UserKnownHostsFile /dev/null' ' LogLevel ERROR' > "$place/config"
  chown -R 2001:2001 "$place"
}

# sshd_start NODE...; it ends with the cluster, or by sshd_stop.
sshd_start() {
  local node
  for node; do
    lab on "$node" bash -c 'mkdir -p /run/sshd && exec /usr/sbin/sshd -f /dev/null -h /srv/sshd/host \
      -o PidFile=/run/sshd.pid -o UsePAM=no -o PasswordAuthentication=no -o StrictModes=no' || return 1
  done
}

sshd_stop() { lab on "$1" bash -c 'kill "$(cat /run/sshd.pid)"'; }
