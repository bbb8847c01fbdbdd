# Tests pushes that fail or are wrongly used.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push

setup_file() { cluster_up 8 --cpus 2 --stagecast PushRoots=/var/tmp/images --stagecast PushFrom=n0 --stagecast ConnectTimeout=2; }
teardown_file() { cluster_down; }
setup() { push_begins; }
teardown() { push_ends; }

@test "a node without room, one that allows it elsewhere only: both are named, the rest have it" {
  input image 5000000
  disk_full n3 /var/tmp/images
  lab on n3 chmod 755 /var/tmp/images
  lab on n4 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf
    sed -i s,PushRoots=.*,PushRoots=/var/tmp/others, /etc/stagecast/stagecast.conf'
  restart_daemon n4
  local rc=0
  push n0 -w 'n[1-6]' --json image /var/tmp/images/ || rc=$?
  heal
  restart_daemon n4
  cat "$WORK/said"
  empty_on n0 n3 n4
  [ "$rc" = 1 ]
  [ "$(jq -r '.failed[].node' "$WORK/said" | sort | tr '\n' ' ')" = 'n3 n4 ' ]
  jq -r '.failed[] | select(.node == "n3").why' "$WORK/said" | grep -q '/var/tmp/images/image: No space left on device'
  jq -r '.failed[] | select(.node == "n4").why' "$WORK/said" | grep -q 'PushRoots (/var/tmp/others)'
  [ "$(jq .done "$WORK/said")" = 4 ]
  has image n1 n2 n5 n6
}

@test "only below PushRoots, only by root, only with sense: nothing is done" {
  input image 1000
  run -2 push n0 -w 'n[0-3]' image /var/tmp/elsewhere
  grep -q 'nodes n\[0-3\]: /var/tmp/elsewhere: lies below none of this node.s PushRoots' "$WORK/said"
  run -64 push n0 -w 'n[0-3]' image /var/tmp/images/../escape
  run -2 push n0 -w 'n[0-3]' nowhere /var/tmp/images/
  grep -q '/nowhere: No such file or directory; check the path$' "$WORK/said" || { cat "$WORK/said"; false; }
  run -64 push n0 image /var/tmp/images/
  run -64 push n0 -w n1 image images/
  run -64 push n0 -w n1 --frobnicate image /var/tmp/images/
  lab on n1 ln -s /etc /var/tmp/images/link
  run -2 push n0 -w n1 image /var/tmp/images/link/image
  run ! lab on n1 test -e /etc/image
  lab on n1 rm /var/tmp/images/link
  local rc=0
  lab on n0 -u alice -d "$T" /srv/stagecast/bin/stagecast push -w n1 image /var/tmp/images/ > "$WORK/said" 2>&1 || rc=$?
  [ "$rc" = 77 ]
  grep -q 'only root may push' "$WORK/said"
  empty_on n0 n1 n2 n3
}

@test "--dry-run makes nothing, --verify sends nothing and knows a changed copy" {
  input image 3000000
  push n0 -w 'n[0-3]' --dry-run image /var/tmp/images/image
  empty_on n0 n1 n2 n3
  push n0 -w 'n[0-3]' image /var/tmp/images/image
  has image n0 n1 n2 n3
  lab on n1 touch /var/tmp/images/image
  push n0 -w 'n[0-3]' --dry-run image /var/tmp/images/image
  grep -q '4 of 4 nodes could take .*, 3 unchanged)' "$WORK/said" || { cat "$WORK/said"; false; }
  push n0 -w 'n[0-3]' --verify image /var/tmp/images/image
  lab on n2 bash -c 'printf x | dd of=/var/tmp/images/image bs=1 seek=1000000 conv=notrunc 2>/dev/null'
  lab on n3 rm /var/tmp/images/image
  run -1 push n0 -w 'n[0-3]' --verify image /var/tmp/images/image
  grep -q 'node n2: the content there differs' "$WORK/said"
  grep -q 'node n3: /var/tmp/images/image: No such file .*; this node has no copy' "$WORK/said"
  grep -q '2 of 4 nodes have the same' "$WORK/said"
  run -1 push n0 -w n2 --verify image /var/tmp/images/image   # all that were asked have another
  empty_on n3
}

@test "nodes that have the content already are sent nothing; any difference is mended" {
  input image 3000000
  chmod 640 "$WORK/image"
  push n0 -w 'n[0-4]' image /var/tmp/images/image
  push n0 -w 'n[0-4]' --json image /var/tmp/images/image
  cat "$WORK/said"
  [ "$(jq -c '[.done, .unchanged, .rounds]' "$WORK/said")" = '[5,5,0]' ]
  # One byte, under the old time; the mode; the owner; the time. (n0's is as it was.)
  lab on n1 bash -c 'cd /var/tmp/images; touch -r image /run/lab/time
    printf x | dd of=image bs=1 seek=1000000 conv=notrunc 2>/dev/null; touch -r /run/lab/time image'
  lab on n2 chmod 600 /var/tmp/images/image
  lab on n3 chown alice /var/tmp/images/image
  lab on n4 touch /var/tmp/images/image
  push n0 -w 'n[0-4]' --json image /var/tmp/images/image
  cat "$WORK/said"
  [ "$(jq -c '[.done, .unchanged, .rounds]' "$WORK/said")" = '[5,1,1]' ]
  has image n{0..4}
  for node in n{0..4}; do
    [ "$(lab on "$node" stat -c '%a %u %Y' /var/tmp/images/image)" = "640 0 $(stat -c %Y "$WORK/image")" ]
  done
  # A link to a file with that content, outside: it is replaced.
  lab on n1 bash -c 'mv /var/tmp/images/image /var/tmp/images/other; ln -s other /var/tmp/images/image'
  push n0 -w 'n[1-2]' image /var/tmp/images/image
  cat "$WORK/said"
  grep -q '2 of 2 nodes have .*, 1 unchanged)' "$WORK/said"
  lab on n1 rm /var/tmp/images/other
  has image n1 n2
  # A bit that these nodes refuse is refused, though the bytes are there.
  chmod u+s "$WORK/image"
  run -2 push n0 -w 'n[1-2]' image /var/tmp/images/image
  grep -q 'nodes n\[1,2\]: .*set-user-id' "$WORK/said" || { cat "$WORK/said"; false; }
}

@test "an unchanged tree is sent nothing, a tree with one changed file again" {
  mkdir -p "$WORK/tree/a/b"
  input tree/a/b/data 300000
  input tree/more 70000
  ln -s a/b/data "$WORK/tree/link"
  push n0 -w 'n[0-3]' tree /var/tmp/images/
  push n0 -w 'n[0-3]' --json tree /var/tmp/images/
  cat "$WORK/said"
  [ "$(jq -c '[.done, .unchanged, .rounds]' "$WORK/said")" = '[4,4,0]' ]
  lab on n1 chown alice /var/tmp/images/tree/more
  lab on n2 ln -sf elsewhere /var/tmp/images/tree/link
  push n0 -w 'n[0-3]' --json tree /var/tmp/images/
  cat "$WORK/said"
  [ "$(jq -c '[.done, .unchanged, .rounds]' "$WORK/said")" = '[4,2,1]' ]
  [ "$(lab on n1 stat -c %u /var/tmp/images/tree/more)" = 0 ]
  [ "$(lab on n2 readlink /var/tmp/images/tree/link)" = a/b/data ]
  chmod u+s "$WORK/tree/more"
  run -2 push n0 -w 'n[1-2]' tree /var/tmp/images/
  grep -q 'nodes n\[1,2\]: .*set-user-id' "$WORK/said" || { cat "$WORK/said"; false; }
}

@test "a tree, to nodes that a file names, from one that is none of them" {
  mkdir -p "$WORK/tree/a/b"
  input tree/a/b/data 300000
  ln -s b/data "$WORK/tree/a/link"
  printf 'n2\n# not this one: n3\nn[4-5]\n' > "$WORK/list"
  push n0 -w "@$T/list" --rate=400mbit tree /var/tmp/images/tree
  local node
  for node in n2 n4 n5; do
    [ "$(lab on "$node" sha256sum /var/tmp/images/tree/a/link | cut -c 1-64)" = "$(sha256sum "$WORK/tree/a/b/data" | cut -c 1-64)" ]
  done
  empty_on n0 n1 n3
  push n0 -w "@$T/list" --verify tree /var/tmp/images/tree
}

@test "interrupted or killed in the middle it leaves nothing anywhere" {
  input image 200000000
  local signal rc
  for signal in INT KILL; do
    lab on n0 -d "$T" bash -c '/srv/stagecast/bin/stagecast push -w "n[0-5]" --rate=40mbit image /var/tmp/images/ > said 2>&1 &
      echo $! > push.pid; wait $!; echo $? > rc' &
    wait_for 20 lab on n4 pgrep -u root -x stagecast-worke
    wait_for 20 lab on n4 bash -c 'ls -A /var/tmp/images | grep -q .'
    lab on n0 bash -c "kill -$signal \$(cat $T/push.pid)"
    wait $!
    wait_for 10 empty_on n0 n1 n2 n3 n4 n5
    rc=$(cat "$WORK/rc")
    [ "$signal" = KILL ] || { [ "$rc" = 2 ] && grep -q 'interrupted' "$WORK/said"; } || { cat "$WORK/said"; false; }
  done
}

@test "a node's worker and a node's daemon die in the middle: both are named, the others have it" {
  input image 60000000
  lab on n0 -d "$T" bash -c '/srv/stagecast/bin/stagecast push -w "n[0-7]" --rate=80mbit image /var/tmp/images/ > said 2>&1; echo $? > rc' &
  wait_for 20 lab on n4 bash -c 'ls -A /var/tmp/images | grep -q .'
  lab on n4 pkill -KILL -u root -x stagecast-worke
  lab on n6 bash -c 'kill -KILL "$(cat /run/lab/stagecastd.pid)"'
  wait $!
  heal
  cat "$WORK/said"
  [ "$(cat "$WORK/rc")" = 1 ]
  grep -q 'node n4: ' "$WORK/said"
  grep -q 'node n6: ' "$WORK/said"
  has image n0 n1 n2 n3 n5 n7
  wait_for 20 empty_on n4 n6
}

@test "one node's data ports are closed, another's network fails in the middle: both are named, the others have it" {
  input image 60000000
  unreachable n4 udp
  lab on n0 -d "$T" bash -c '/srv/stagecast/bin/stagecast push -w "n[0-7]" --rate=80mbit image /var/tmp/images/ > said 2>&1; echo $? > rc' &
  wait_for 40 lab on n6 bash -c 'ls -A /var/tmp/images | grep -q .'   # In the second round, without n4.
  unreachable n6 udp
  wait $!
  heal
  cat "$WORK/said"
  [ "$(cat "$WORK/rc")" = 1 ]
  [ "$(grep -c 'node n' "$WORK/said")" = 2 ]
  grep -q 'node n4: .*DataPortRange' "$WORK/said"
  grep -q 'node n6: ' "$WORK/said"
  has image n0 n1 n2 n3 n5 n7
  wait_for 20 empty_on n4 n6
}

@test "a job's stage and a push at one time, on the same nodes" {
  input image 20000000
  input data 20000000
  OUT=$WORK/out
  lab on n0 -d "$T" /srv/stagecast/bin/stagecast push -w 'n[0-7]' --rate=200mbit image /var/tmp/images/ > "$WORK/said" 2>&1 &
  as_alice srun -N8 --stage-file=data /srv/rank.sh > "$OUT"
  wait $! || { cat "$WORK/said"; false; }
  staged_everywhere "$OUT" data
  has image n{0..7}
}
