# Tests a cluster whose daemons log in to each other by AuthKeyFile=. Slurm's own munge runs, because 22.05 needs it; for
# stagecast it is out of reach.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push

KEY=/etc/stagecast/auth.key

setup_file() {
  local node
  cluster_up 4 --cpus 2 --stagecast PushRoots=/var/tmp/images --stagecast PushFrom=n0 --stagecast ConnectTimeout=2
  head -c 32 /dev/urandom > "$CLUSTER_DIR/right.key"
  for node in "${NODES[@]}"; do
    key "$node" < "$CLUSTER_DIR/right.key"
    lab on "$node" bash -c 'printf "%s\n" AuthKeyFile="$0" MungeSocket=/run/nowhere >> /etc/stagecast/stagecast.conf' $KEY
    restart_daemon "$node"
  done
  wait_for 20 residue_settled   # without the spare PMIx hosts
}
teardown_file() { cluster_down; }
setup() { push_begins; }
teardown() { push_ends; }

# key NODE: stdin becomes the key there.
key() { lab on "$1" bash -c 'rm -f "$0"; umask 077; cat > "$0"; chmod 400 "$0"' $KEY; }

# mended NODE...: the right key and rights again.
mended() {
  local node
  for node; do
    key "$node" < "$CLUSTER_DIR/right.key"
    restart_daemon "$node"
  done
}

# starts_not NODE: what stagecastd says when it is started there and ends.
starts_not() {
  local rc=0
  lab on "$1" timeout 20 /srv/stagecast/sbin/stagecastd -c /etc/stagecast/stagecast.conf > "$WORK/said" 2>&1 || rc=$?
  cat "$WORK/said"
  [ "$rc" = 69 ]
}

@test "jobs are staged, and no process of stagecast asks munge" {
  local node
  input data 3000000
  script 'srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
  for node in "${NODES[@]}"; do
    # PMIx hosts would ask it by its default socket; stagecastd's helper reaches none (below).
    run ! lab on "$node" pgrep stagecast-pmix
    grep -q "ready.* login=$KEY" "$CLUSTER_DIR/log/stagecastd-$node.log"
  done
  OUT=$WORK/out
  as_alice srun -N4 --stage-file=data /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" data
  log_since stagecastd-n{0..3} > "$WORK/log"
  run ! grep -i munge "$WORK/log"
}

@test "a push" {
  local rc=0
  input image 5000000
  push n0 -w 'n[0-3]' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  [ "$rc" = 0 ]
  has image n{0..3}
}

@test "another key on one node: the job fails, and both sides name the file" {
  input data 100000
  head -c 32 /dev/urandom | key n2
  restart_daemon n2
  CODE=75 sbatch_fails --stage-file=data
  mended n2
  cat "$OUT"
  node_sentence "$OUT" n2 "does not accept this node's credential; is AuthKeyFile= set on both nodes, is $KEY here the same file as there"
  log_since stagecastd-n2 > "$WORK/log"
  grep -q "does not open with $KEY" "$WORK/log"
  script 'srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data
}

@test "a push, and doctor --multicast, name the node with another key" {
  local rc=0
  input image 100000
  head -c 32 /dev/urandom | key n3
  restart_daemon n3
  push n0 -w 'n[0-3]' image /var/tmp/images/ || rc=$?
  cat "$WORK/said"
  lab on n0 /srv/stagecast/bin/stagecast doctor --multicast -w 'n[0-3]' > "$WORK/doctor" 2>&1 || true
  cat "$WORK/doctor"
  mended n3
  [ "$rc" = 1 ]
  grep -q "node n3: .*is $KEY here the same file as there" "$WORK/said"
  has image n{0..2}
  grep -q "n3.*is $KEY here the same file as there" "$WORK/doctor"
}

@test "one node with munge: the job fails, and says what the two have" {
  input data 100000
  lab on n1 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; sed -i "/^AuthKeyFile=/d" /etc/stagecast/stagecast.conf'
  restart_daemon n1
  CODE=75 sbatch_fails --stage-file=data
  lab on n1 cp /run/lab/conf /etc/stagecast/stagecast.conf
  lab on n1 rm /run/lab/conf
  restart_daemon n1
  cat "$OUT"
  node_sentence "$OUT" n1 "does not accept this node's credential; is AuthKeyFile= set on both nodes"
  log_since stagecastd-n1 > "$WORK/log"
  grep -q 'it was made by a key file, and this node uses munge' "$WORK/log"
}

@test "munge on the first node, which has none: the message names AuthKeyFile=" {
  input data 100000
  lab on n0 bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; sed -i "/^AuthKeyFile=/d" /etc/stagecast/stagecast.conf'
  restart_daemon n0
  CODE=75 sbatch_fails --stage-file=data
  lab on n0 cp /run/lab/conf /etc/stagecast/stagecast.conf
  lab on n0 rm /run/lab/conf
  restart_daemon n0
  cat "$OUT"
  grep -q 'munge on this node does not answer (.*A cluster without munge needs AuthKeyFile=' "$OUT"
}

@test "a clock that is off by an hour: both nodes are named" {
  input data 100000
  fault n2 'clock 3600 stagecastd'
  restart_daemon n2
  CODE=75 sbatch_fails --stage-file=data
  no_fault n2
  restart_daemon n2
  cat "$OUT"
  node_sentence "$OUT" n2 'the clocks of nodes n[01] and n2 are 3[56][0-9][0-9] s apart \(n[01] is behind\), so the login is refused; set both clocks'
}

@test "a file that is missing, another user's, readable or short: stagecastd does not start and says why" {
  local node=n1
  lab stop $node stagecastd
  lab on $node mv $KEY /run/lab/kept.key
  starts_not $node
  grep -q "AuthKeyFile=$KEY: No such file or directory; make it on one node, (umask 077; " "$WORK/said"
  lab on $node cp -p /run/lab/kept.key $KEY
  lab on $node chmod 440 $KEY
  starts_not $node
  grep -q "AuthKeyFile=$KEY: others than its owner have rights to it; chmod 0400 $KEY" "$WORK/said"
  lab on $node chmod 400 $KEY
  lab on $node chown alice $KEY
  starts_not $node
  grep -q "AuthKeyFile=$KEY: it belongs to uid 2001, which could replace it; chown root $KEY, or name its owner in SlurmUser=" "$WORK/said"
  lab on $node chown root $KEY
  head -c 31 /dev/urandom | key $node
  starts_not $node
  grep -q "AuthKeyFile=$KEY: it has 31 bytes, but 32 to 4096 are needed" "$WORK/said"
  lab on $node rm $KEY
  lab on $node ln -s /run/lab/kept.key $KEY
  starts_not $node
  grep -q "AuthKeyFile=$KEY: it is a symbolic link; name the file that it leads to" "$WORK/said"
  input data 100000
  CODE=75 sbatch_fails --stage-file=data
  lab on $node rm $KEY /run/lab/kept.key
  key $node < "$CLUSTER_DIR/right.key"
  start_daemon $node
  cat "$OUT"
  node_sentence "$OUT" $node 'stagecastd does not answer'
}

@test "Slurm's own key: it belongs to Slurm's user, and is longer" {
  local node
  input data 100000
  head -c 1024 /dev/urandom > "$WORK/slurm.key"
  for node in "${NODES[@]}"; do
    key "$node" < "$WORK/slurm.key"
    lab on "$node" bash -c 'chown slurm "$0"; chmod 600 "$0"; cp /etc/stagecast/stagecast.conf /run/lab/conf
      echo SlurmUser=slurm >> /etc/stagecast/stagecast.conf' $KEY
    restart_daemon "$node"
  done
  script 'srun /srv/rank.sh'
  submit -N4 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  for node in "${NODES[@]}"; do
    lab on "$node" mv /run/lab/conf /etc/stagecast/stagecast.conf
    mended "$node"
  done
  staged_everywhere "$OUT" data
}

@test "doctor judges the file, and on a login node asks for none" {
  local rc=0
  run -0 lab on n1 /srv/stagecast/bin/stagecast doctor
  [[ $output == *"ok     AuthKeyFile: $KEY is closed to other users"* ]] || { echo "$output"; false; }
  [[ $output == *'ok     PMIx: is not used with AuthKeyFile='* ]]
  [[ $output != *munge:* ]]
  lab on n1 -u alice /srv/stagecast/bin/stagecast doctor --local > "$WORK/said" || true
  grep -qF '?      AuthKeyFile: only root can tell' "$WORK/said"
  lab on n1 chmod 404 $KEY
  run -1 lab on n1 /srv/stagecast/bin/stagecast doctor --local
  lab on n1 chmod 400 $KEY
  [[ $output == *"WRONG  AuthKeyFile: AuthKeyFile=$KEY: others than its owner have rights to it; chmod 0400"* ]] || { echo "$output"; false; }
  run -0 lab exec /srv/stagecast/bin/stagecast doctor
  [[ $output != *AuthKeyFile* ]]
  lab exec bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; echo "AuthKeyFile=$0" >> /etc/stagecast/stagecast.conf' $KEY
  lab exec /srv/stagecast/bin/stagecast doctor > "$WORK/said" || rc=$?
  lab exec mv /run/lab/conf /etc/stagecast/stagecast.conf
  cat "$WORK/said"
  [ "$rc" = 0 ]
  run ! grep -E 'AuthKeyFile|munge:' "$WORK/said"
}
