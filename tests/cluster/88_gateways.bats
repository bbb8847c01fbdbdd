# Tests pushes to nodes of another cluster, by a gateway there. One Slurm has the nodes of both
# clusters: n0 is of cluster a, n1 and n2 are gateways of cluster b, the others are its nodes.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push

setup_file() {
  cluster_up 7 --cpus 2 --stagecast PushRoots=/var/tmp/images --stagecast PushFrom=n1,n2 --stagecast ConnectTimeout=2 \
    --stagecast MetricsFile=/run/lab/metrics/stagecast.prom
  head -c 32 /dev/urandom > "$CLUSTER_DIR/ab.key"
  settings n0 ClusterName=a ClusterKeys=b=/etc/stagecast/cluster.key Routes=b/n1=10.77.1.2,b/n2=10.77.1.3
  for node in n1 n2; do
    settings "$node" ClusterName=b ClusterKeys=a=/etc/stagecast/cluster.key AcceptFrom=a
  done
}
teardown_file() { cluster_down; }
setup() { push_begins; }
teardown() { push_ends; }

# settings NODE LINE...: adds these lines and the key, and restarts the daemon.
settings() {
  local node=$1
  shift
  lab on "$node" bash -c 'cat > /etc/stagecast/cluster.key; chmod 400 /etc/stagecast/cluster.key' < "$CLUSTER_DIR/ab.key"
  lab on "$node" bash -c 'printf "%s\n" "$@" >> /etc/stagecast/stagecast.conf' - "$@"
  restart_daemon "$node"
}

# without NODE KEY: that key is not set there, until setting NODE LINE.
without() {
  lab on "$1" sed -i "/^$2=/d" /etc/stagecast/stagecast.conf
  restart_daemon "$1"
}

nothing_left_on() {
  local node
  for node; do
    [ -z "$(lab on "$node" find /var/spool/stagecast -mindepth 1 -not -path '*/.*')" ] || { lab on "$node" find /var/spool/stagecast; return 1; }
    [ -z "$(lab on "$node" pgrep -x stagecast-worke)" ] || { lab on "$node" ps -ef; return 1; }
  done
}

@test "a file passes the gateway to the nodes behind it, which keeps nothing of it" {
  input image 30000000
  push n0 -w 'b:n[3-6]' image /var/tmp/images/ || { cat "$WORK/said"; false; }
  cat "$WORK/said"
  grep -q '4 of 4 nodes have /var/tmp/images/' "$WORK/said"
  has image n{3..6}
  empty_on n0 n1 n2
  wait_for 20 nothing_left_on n1
}

# legs_by FABRIC: how many of n1's workers received by it.
legs_by() {
  lab on n1 bash -c 'mkdir -p /run/lab/metrics; rm -f /run/lab/metrics/*; kill -HUP "$(cat /run/lab/stagecastd.pid)"'
  wait_for 10 lab on n1 test -s /run/lab/metrics/stagecast.prom
  lab on n1 sed -n "s/^stagecast_workers_total{fabric=\"$1\"} //p" /run/lab/metrics/stagecast.prom
}

# goes_by FABRIC: a push to the nodes behind the gateway, whose leg goes by that.
goes_by() {
  local before after
  before=$(legs_by "$1")
  push n0 -w 'b:n[3-4]' image /var/tmp/images/ || { cat "$WORK/said"; return 1; }
  has image n3 n4
  after=$(legs_by "$1")
  echo "legs by $1: $before, then $after"
  [ "$after" = $((before + 1)) ] || return 1
  for node in n3 n4; do lab on "$node" rm /var/tmp/images/image; done
}

@test "a leg goes by UDP, and by TCP where a firewall drops UDP or WideArea=tcp says so" {
  input image 5000000
  goes_by hop
  lab on n1 iptables -A INPUT -p udp -s 10.77.1.1 -j DROP
  goes_by tcp
  lab on n1 iptables -D INPUT -p udp -s 10.77.1.1 -j DROP
  settings n0 WideArea=tcp
  goes_by tcp
  without n0 WideArea
  settings n1 WideArea=tcp
  goes_by tcp
  without n1 WideArea
  goes_by hop
}

@test "UDP that is blocked in mid-transfer: the leg goes on by TCP" {
  input image 60000000
  lab on n0 bash -c 'echo RateMax=40mbit >> /etc/stagecast/stagecast.conf'
  restart_daemon n0
  local before
  before=$(legs_by hop)
  push n0 -w 'b:n[3-4]' image /var/tmp/images/ &
  sleep 5
  lab on n1 iptables -A INPUT -p udp -s 10.77.1.1 -j DROP
  wait $! || { cat "$WORK/said"; false; }
  lab on n1 iptables -D INPUT -p udp -s 10.77.1.1 -j DROP
  without n0 RateMax
  has image n3 n4
  [ "$(legs_by hop)" = $((before + 1)) ]
}

@test "nodes of both clusters, and one that refuses: it is named with its cluster" {
  input image 5000000
  lab on n4 chmod 777 /var/tmp/images
  local rc=0
  push n0 -w 'n0,b:n[3-5]' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  [ "$rc" = 1 ]
  grep -q 'node b:n4: ' "$WORK/said"
  grep -q '3 of 4 nodes have /var/tmp/images/' "$WORK/said"
  has image n0 n3 n5
  empty_on n1 n2 n4
}

@test "a tree, an empty file and a long name pass, too" {
  mkdir -p "$WORK/tree/below"
  head -c 3000000 /dev/urandom > "$WORK/tree/below/data"
  ln -s below/data "$WORK/tree/link"
  : > "$WORK/tree/empty"
  push n0 -w 'b:n[3-4]' tree /var/tmp/images/ || { cat "$WORK/said"; false; }
  for node in n3 n4; do
    [ "$(lab on "$node" cat /var/tmp/images/tree/link | sha256sum)" = "$(sha256sum < "$WORK/tree/below/data")" ]
    [ "$(lab on "$node" stat -c %s /var/tmp/images/tree/empty)" = 0 ]
  done
  : > "$WORK/nothing"
  push n0 -w 'b:n5' nothing /var/tmp/images/ || { cat "$WORK/said"; false; }
  [ "$(lab on n5 stat -c %s /var/tmp/images/nothing)" = 0 ]
}

@test "nodes behind the gateway that have the content are sent nothing, and nothing passes for them" {
  input image 3000000
  push n0 -w 'b:n[3-5]' image /var/tmp/images/ || { cat "$WORK/said"; false; }
  push n0 -w 'n0,b:n[3-5]' --json image /var/tmp/images/ || { cat "$WORK/said"; false; }
  cat "$WORK/said"
  [ "$(jq -c '[.done, .unchanged]' "$WORK/said")" = '[4,3]' ]
  lab on n4 rm /var/tmp/images/image
  push n0 -w 'b:n[3-5]' --json image /var/tmp/images/ || { cat "$WORK/said"; false; }
  cat "$WORK/said"
  [ "$(jq -c '[.done, .unchanged]' "$WORK/said")" = '[3,2]' ]
  has image n0 n{3..5}
  # No leg was begun where all had it.
  local begun
  begun=$(log_since stagecastd-n1 | grep -c 'a push of another cluster has ended')
  [ "$begun" = 3 ]
  [ "$(log_since stagecastd-n3 | grep -c 'stage finished')" -le 2 ]
}

@test "all nodes refuse: nothing is sent, and each is named" {
  input image 1000000
  lab on n3 chmod 777 /var/tmp/images
  lab on n4 chmod 777 /var/tmp/images
  local rc=0
  push n0 -w 'b:n[3-4]' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  [ "$rc" = 2 ]
  grep -q 'nodes b:n\[3,4\]: ' "$WORK/said"
  empty_on n{0..6}
}

@test "a gateway that does not accept the cluster says so, and the next one is not asked in vain" {
  input image 1000000
  without n1 AcceptFrom
  without n2 AcceptFrom
  local rc=0
  push n0 -w 'b:n3' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  settings n1 AcceptFrom=a
  settings n2 AcceptFrom=a
  [ "$rc" = 2 ]
  grep -q 'gateway b/n2: AcceptFrom in its stagecast.conf does not name cluster a' "$WORK/said"
  empty_on n{0..6}
}

@test "another key, or none, or one that others can read: nothing passes, and the file is named" {
  input image 1000000
  local rc=0
  lab on n0 bash -c 'cp -p /etc/stagecast/cluster.key /run/lab/right.key
    head -c 32 /dev/urandom > /etc/stagecast/cluster.key'
  restart_daemon n0
  push n0 -w 'b:n3' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  [ "$rc" = 2 ]
  grep -q 'does not accept this node.s credential; have a and b the same file in ClusterKeys=' "$WORK/said"
  rc=0
  lab on n0 bash -c 'cat /run/lab/right.key > /etc/stagecast/cluster.key'
  lab on n0 chmod 444 /etc/stagecast/cluster.key
  restart_daemon n0
  push n0 -w 'b:n3' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  lab on n0 chmod 400 /etc/stagecast/cluster.key
  restart_daemon n0
  [ "$rc" = 2 ]
  grep -q 'no ClusterKeys= is for cluster b' "$WORK/said"
  grep -q '/etc/stagecast/cluster.key' "$CLUSTER_DIR/log/stagecastd-n0.log"
  empty_on n{0..6}
}

@test "the clusters need not share munge: that of the source may be silent" {
  input image 1000000
  lab on n0 bash -c 'echo MungeSocket=/run/none >> /etc/stagecast/stagecast.conf'
  restart_daemon n0
  local rc=0
  push n0 -w 'b:n[3-4]' image /var/tmp/images/ || rc=$?
  without n0 MungeSocket
  cat "$WORK/said"
  [ "$rc" = 0 ]
  has image n3 n4
}

@test "more than MaxBytes of the gateway is refused before a byte is sent" {
  input image 3000000
  for node in n1 n2; do
    lab on "$node" bash -c 'echo MaxBytes=1M >> /etc/stagecast/stagecast.conf'
    restart_daemon "$node"
  done
  local rc=0
  push n0 -w 'b:n3' image /var/tmp/images/ || rc=$?
  without n1 MaxBytes
  without n2 MaxBytes
  cat "$WORK/said"
  [ "$rc" = 2 ]
  grep -q 'more than MaxBytes there allows' "$WORK/said"
  empty_on n{0..6}
}

@test "without a route, and without a name of its own, the message names the key" {
  input image 1000
  local rc=0
  push n0 -w 'c:n3' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  [ "$rc" = 2 ]
  grep -q "Routes in this node's stagecast.conf names no gateway of cluster c" "$WORK/said"
  rc=0
  push n3 -w 'b:n4' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  [ "$rc" = 2 ]
  grep -q "ClusterName in this node's stagecast.conf is empty" "$WORK/said"
}

@test "the first gateway is down: the second one carries the push" {
  input image 5000000
  lab stop n1 stagecastd
  local rc=0
  push n0 -w 'b:n[3-6]' image /var/tmp/images/ || rc=$?
  heal
  cat "$WORK/said"
  [ "$rc" = 0 ]
  has image n{3..6}
}

@test "the gateway's daemon is killed in mid-transfer: the second one completes the push" {
  input image 60000000
  push n0 -w 'b:n[3-6]' --rate=100mbit image /var/tmp/images/ &
  local pid=$! rc=0
  sleep 2
  lab on n1 pkill -KILL -x stagecastd
  wait "$pid" || rc=$?
  heal
  cat "$WORK/said"
  [ "$rc" = 0 ]
  has image n{3..6}
  wait_for 30 nothing_left_on n1
}

@test "the gateway is stopped in mid-transfer, and says so: the second one completes the push" {
  input image 60000000
  push n0 -w 'b:n[3-6]' --rate=100mbit image /var/tmp/images/ &
  local pid=$! rc=0
  sleep 2
  lab stop n1 stagecastd
  wait "$pid" || rc=$?
  heal
  cat "$WORK/said"
  [ "$rc" = 0 ]
  has image n{3..6}
}

@test "names of nodes that are no text end a push, and no daemon" {
  input image 1000
  local rc=0 before
  before=$(lab on n1 cat /run/lab/stagecastd.pid)
  push n0 -w $'b:\xff[' image /var/tmp/images/ || rc=$?
  cat -v "$WORK/said"
  [ "$rc" -ne 0 ]
  lab on n1 kill -0 "$before"
  push n0 -w 'b:n3' image /var/tmp/images/ || { cat "$WORK/said"; false; }
}

@test "the user interrupts the push: no node keeps anything" {
  input image 60000000
  push n0 -w 'b:n[3-6]' --rate=50mbit image /var/tmp/images/ &
  local pid=$!
  sleep 2
  lab on n0 pkill -INT -x stagecast
  wait "$pid" || true
  cat "$WORK/said"
  wait_for 20 empty_on n{3..6}
  wait_for 20 nothing_left_on n1
}

# stop_worker NODE: as soon as it writes. (The worker of the preflight check writes nothing.)
stop_worker() {
  wait_for 20 writes "$1"
  lab on "$1" pkill -STOP -x stagecast-worke
}
writes() { [ -n "$(lab on "$1" find /var/tmp/images -name '.*.stagecast.*')" ]; }

@test "with --ack=gateway a push ends before a node behind it has the file, which comes later" {
  input image 8000000
  push n0 -w 'b:n[3-5]' --ack=gateway --rate=20mbit image /var/tmp/images/ &
  local pid=$! rc=0
  stop_worker n5
  wait "$pid" || rc=$?
  cat "$WORK/said"
  [ "$rc" = 0 ]
  grep -q 'the gateway has it for b:n\[3-5\], and goes on by itself' "$WORK/said"
  ! lab on n5 test -e /var/tmp/images/image
  lab on n5 pkill -CONT -x stagecast-worke
  wait_for 30 has image n{3..5}
}

@test "without it the push waits for that node" {
  input image 8000000
  push n0 -w 'b:n[3-5]' --rate=20mbit image /var/tmp/images/ &
  local pid=$! rc=0
  stop_worker n5
  sleep 8
  kill -0 "$pid"
  lab on n5 pkill -CONT -x stagecast-worke
  wait "$pid" || rc=$?
  cat "$WORK/said"
  [ "$rc" = 0 ]
  has image n{3..5}
}
