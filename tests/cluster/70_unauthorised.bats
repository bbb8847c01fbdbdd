# Tests what another user, on a node of the job or beside it, can change or read.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

# Jobs run on n0-n2; n3 belongs to others. 20 MB take 4 s.
setup_file() {
  cluster_up 4 --stagecast RateMax=40mbit
  install -m 755 "$CLUSTER_TESTS"/attack/*.py "$CLUSTER_DIR/srv/"
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local host
  for host in login "${NODES[@]}"; do lab on "$host" bash -c 'pkill -KILL -f "^([^ ]*python3|tcpdump|strace) "; true'; done
  lab exec rm -f /srv/capture
  test_ends
}

# begin: a staging to n0-n2 of a file full of one phrase; returns in the middle of it.
begin() {
  yes THE-SECRET-OF-THE-FILE | head -c 20000000 > "$WORK/data"
  chown 2001:2001 "$WORK/data"
  script 'srun /srv/rank.sh'
  submit -w n0,n1,n2 -N3 --stage-file=data job.sh
  wait_for 40 receiving
  GROUP=$(lab on n1 awk 'length($1) == 8 && $1 ~ /4DEF$/ { print $1; exit }' /proc/net/igmp)
  GROUP=239.77.0.$((0x${GROUP:0:2}))
  GROUP_PORT=$(lab on n1 ss -Huan | awk -v group="$GROUP:" 'index($4, group) == 1 { sub(/.*:/, "", $4); print $4; exit }')
  [ -n "$GROUP_PORT" ]
  PORTS=$(lab on n1 ss -Huan | awk '{ sub(/.*:/, "", $4); print $4 }' | sort -u | tr '\n' ' ')
}
receiving() { lab on n1 bash -c 'ls /var/spool/stagecast/*/.data.stagecast.*'; }

unharmed() {
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on n0 n1 n2
}

attack() { local host=$1; shift; lab on "$host" timeout 30 "$@" < /dev/null > "$WORK/attack-$host-$RANDOM" 2>&1 3>&- & }

capture() {
  lab on "$1" tcpdump -i eth0 -U -s 0 -w - < /dev/null > "$WORK/$1.pcap" 2> "$WORK/$1.tcpdump" 3>&- &
  wait_for 10 grep -q 'listening on' "$WORK/$1.tcpdump"
}

# counted PATTERN: some daemon's log has it. Counts may come a moment after the job.
counted() { wait_for 10 log_has "$1" || { echo "no daemon's log has '$1'"; return 1; }; }
log_has() { daemon_logs | grep -Eqi "$1"; }

@test "joining the group: refused where stagecastd holds the ports; elsewhere bob hears packets, but no byte of the file" {
  lab stop n3 stagecastd
  begin
  lab on n1 -u bob timeout 20 /srv/listen.py "$GROUP" "$GROUP_PORT" 10.77.1 /tmp/heard > "$WORK/heard1" 2>&1 3>&- < /dev/null &
  lab on n3 -u bob timeout 20 /srv/listen.py "$GROUP" "$GROUP_PORT" 10.77.1 /tmp/heard > "$WORK/heard3" 2>&1 3>&- < /dev/null &
  unharmed
  grep -q 'Address already in use' "$WORK/heard1" || { cat "$WORK/heard1"; false; }
  # A host that receives no packets recovers nothing, so the test needs many packets.
  [ "$(lab on n3 stat -c %s /tmp/heard)" -gt 1000000 ]
  run ! lab on n3 grep -aq SECRET-OF-THE-FILE /tmp/heard
  lab on n1 rm -f /tmp/heard
  lab on n3 bash -c 'pkill -u bob -f listen.py; while pgrep -u bob -f listen.py; do sleep 0.1; done; rm -f /tmp/heard'
  start_daemon n3
}

@test "garbage to the group and to every port: nothing changes, and it is counted" {
  begin
  local port
  for port in $PORTS; do
    attack n3 /srv/garbage.py "$GROUP" "$port" 3000
    attack n1 setpriv --reuid bob --clear-groups /srv/garbage.py 10.77.1.2 "$port" 3000
    attack n1 setpriv --reuid bob --clear-groups /srv/garbage.py "$GROUP" "$port" 3000
  done
  unharmed
  counted 'packets_rejected["= :]*[1-9]'
}

@test "packets replayed and bent, in the same session and in the next" {
  capture n3
  begin
  wait_for 20 bash -c "[ \$(stat -c %s '$WORK/n3.pcap') -gt 500000 ]"
  cp "$WORK/n3.pcap" "$CLUSTER_DIR/srv/capture"
  attack n3 /srv/replay.py /srv/capture
  unharmed
  begin
  attack n3 /srv/replay.py /srv/capture
  unharmed
  lab on n3 pkill -INT tcpdump
  wait
  local said
  for said in "$WORK"/attack-*; do grep -q 'replayed [1-9]' "$said" || { cat "$said"; false; }; done
  counted 'packets_rejected["= :]*[1-9]'
}

@test "the TCP port: garbage, silence, a thousand connections" {
  local node
  for node in n0 n1 n2; do
    attack n3 /srv/tcp_garbage.py "$(address_of "$node")" 6829 garbage
    attack n3 /srv/tcp_garbage.py "$(address_of "$node")" 6829 silence
    attack n3 /srv/tcp_garbage.py "$(address_of "$node")" 6829 flood
  done
  attack n1 setpriv --reuid bob --clear-groups /srv/tcp_garbage.py 127.0.0.1 6829 munge
  begin
  unharmed
  counted 'a login at the daemons. port failed.* total=[1-9]'
}
address_of() { echo "10.77.1.$((${1#n} + 1))"; }

@test "the unix socket as a user: every request is refused" {
  local node
  for node in n0 n1; do
    lab on "$node" -u bob timeout 30 /srv/socket_garbage.py /run/stagecast/stagecastd.sock < /dev/null > "$WORK/said" 2>&1
    grep -q 'nothing taken' "$WORK/said" || { cat "$WORK/said"; false; }
  done
  begin
  attack n0 setpriv --reuid bob --clear-groups /srv/socket_garbage.py /run/stagecast/stagecastd.sock
  unharmed
}

@test "PMIx' loopback listener: three bad logins and a silent connection, before and during the job" {
  attack n1 setpriv --reuid bob --clear-groups /srv/pmix_logins.py
  attack n0 setpriv --reuid bob --clear-groups /srv/pmix_logins.py
  begin
  unharmed
  begin
  attack n1 setpriv --reuid bob --clear-groups /srv/pmix_logins.py
  unharmed
  wait
  local said
  for said in "$WORK"/attack-*; do grep -Eq 'knocks [1-9].* [1-9][0-9]* silent' "$said" || { cat "$said"; false; }; done
}

@test "no byte of a key or of the file in a capture of all links" {
  local host
  command -v strace > /dev/null || skip 'no strace'
  for host in n0 n1 n2 n3; do capture "$host"; done
  for host in n0 n1; do
    lab on "$host" bash -c 'strace -f -qq -yy -xx -s 65536 -e trace=sendmsg,sendto,write,writev -o "/var/log/strace-$0" \
      -p "$(cat /run/lab/stagecastd.pid)"' "$host" < /dev/null > /dev/null 2>&1 3>&- &
  done
  wait_for 10 bash -c "[ -e '$CLUSTER_DIR/log/strace-n0' ] && [ -e '$CLUSTER_DIR/log/strace-n1' ]"
  sleep 0.5   # strace says nowhere that it has attached to every thread
  begin
  unharmed
  for host in n0 n1 n2 n3; do lab on "$host" pkill -INT tcpdump; done
  lab on n0 pkill -INT strace; lab on n1 pkill -INT strace
  wait
  for host in n0 n1 n2 n3; do
    [ "$(stat -c %s "$WORK/$host.pcap")" -gt 1000000 ]
    run ! grep -aq SECRET-OF-THE-FILE "$WORK/$host.pcap"
  done
  "$CLUSTER_TESTS/attack/secrets_in.py" "$CLUSTER_DIR/log/strace-n0" "$WORK/n0.pcap" "$WORK/n3.pcap"
  "$CLUSTER_TESTS/attack/secrets_in.py" "$CLUSTER_DIR/log/strace-n1" "$WORK/n1.pcap" "$WORK/n3.pcap"
}
