# Tests jobs with files of another cluster. One Slurm has the nodes of both clusters: n0 and n5 are gateways of cluster a,
# whose files lie on their own disks; the others are nodes of cluster b.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

FILES=/var/tmp/a

setup_file() {
  local node
  cluster_up 6 --cpus 2 --stagecast ConnectTimeout=2
  head -c 32 /dev/urandom > "$CLUSTER_DIR/ab.key"
  head -c 32 /dev/urandom > "$CLUSTER_DIR/tickets.key"
  for node in n0 n5; do
    key "$node" tickets.key
    settings "$node" ClusterName=a ClusterKeys=b=/etc/stagecast/ab.key TicketKey=/etc/stagecast/tickets.key
  done
  for node in n{1..4}; do
    settings "$node" ClusterName=b ClusterKeys=a=/etc/stagecast/ab.key Routes=a/n0=10.77.1.1,a/n5=10.77.1.6
  done
}
teardown_file() { cluster_down; }
setup() {
  test_begins
  NODES=(n1 n2 n3 n4)
  for node in n0 n5; do lab on "$node" install -d -m 1777 $FILES; done
}
teardown() {
  local node
  cluster_nodes
  heal
  for node in "${NODES[@]}"; do
    changed "$node" || continue
    lab on "$node" sed -i '/^RateMax=\|^MaxBytes=/d' /etc/stagecast/stagecast.conf
    restart_daemon "$node"
  done
  for node in n0 n5; do lab on "$node" rm -rf $FILES; done
  test_ends
}

changed() { lab on "$1" grep -q '^RateMax=\|^MaxBytes=' /etc/stagecast/stagecast.conf; }

key() { lab on "$1" bash -c 'cat > "$0"; chmod 400 "$0"' "/etc/stagecast/$2" < "$CLUSTER_DIR/$2"; }

settings() {
  local node=$1
  shift
  key "$node" ab.key
  lab on "$node" bash -c 'printf "%s\n" "$@" >> /etc/stagecast/stagecast.conf' - "$@"
  restart_daemon "$node"
}

# at_a NAME SIZE [OWNER]: WORK/NAME, and the same file on both gateways, of that user alone.
at_a() {
  local node
  input "$1" "$2"
  for node in n0 n5; do
    lab on "$node" bash -c 'cat > "$0"; touch -d "2024-02-29 12:34:56.789" "$0"; chmod 600 "$0"; chown "$1:" "$0"' \
      "$FILES/$1" "${3:-alice}" < "$WORK/$1"
  done
  chmod 600 "$WORK/$1"
}

# ticket_of USER ARGS...: on cluster a.
ticket_of() {
  local user=$1
  shift
  lab on n0 -u "$user" /srv/stagecast/bin/stagecast ticket --cluster=b "$@"
}

# staged NAME...: a job of alice's on all nodes of b finds these files of a.
staged() {
  local ticket name
  local -a files=()
  for name; do files+=("--stage-file=cluster://a$FILES/$name"); done
  ticket=$(ticket_of alice $FILES)
  script 'srun /srv/rank.sh'
  submit -N4 -w 'n[1-4]' --stage-ticket="$ticket" "${files[@]}" job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" "$@"
  lab on n1 -u alice /srv/stagecast/bin/stagecast explain "$JOB" > "$WORK/said"
  grep -q '^  from another cluster, by its gateway a/n0$' "$WORK/said" || { cat "$WORK/said"; return 1; }
}

no_worker_on() {
  local node
  for node; do [ -z "$(lab on "$node" pgrep -x stagecast-worke)" ] || { lab on "$node" ps -ef; return 1; }; done
}

@test "a job's files come from another cluster, and nothing of them stays at its gateway" {
  at_a data 30000000
  staged data
  [ -z "$(lab on n0 find /var/spool/stagecast -mindepth 1 -not -path '*/.*')" ]
  no_worker_on n0
  # They crossed once.
  [ "$(log_since stagecastd-n0 | grep -c 'a job of another cluster gets files')" = 1 ]
}

@test "several files, an empty one, a directory and an archive come in one job" {
  at_a one 5000000
  at_a none 0
  lab on n0 -u alice bash -c "mkdir -p $FILES/tree/below; echo hello > $FILES/tree/below/word
    tar -czf $FILES/pack.tar.gz -C $FILES tree"
  local ticket
  ticket=$(ticket_of alice $FILES/one $FILES/none $FILES/tree $FILES/pack.tar.gz)
  script 'srun bash -c "sha256sum < \$STAGECAST_DIR/one; stat -c %s \$STAGECAST_DIR/none
    cat \$STAGECAST_DIR/tree/below/word \$STAGECAST_DIR/deep/out/tree/below/word"'
  submit -N2 -w 'n[2-3]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/one" --stage-file="cluster://a$FILES/none" \
    --stage-file="cluster://a$FILES/tree" --stage-file="cluster://a$FILES/pack.tar.gz:deep/out:extract" job.sh
  wait_job "$JOB" COMPLETED
  cat "$OUT"
  [ "$(grep -c "$(sha256sum < "$WORK/one" | cut -c 1-64)" "$OUT")" = 2 ]
  [ "$(grep -cx hello "$OUT")" = 4 ]
  [ "$(grep -cx 0 "$OUT")" = 2 ]
}

@test "a job of one node, a step, and srun alone get files of another cluster" {
  at_a data 3000000
  local ticket
  ticket=$(ticket_of alice $FILES/data)
  script "srun --stage-ticket=$ticket --stage-file=cluster://a$FILES/data:of-step bash -c 'sha256sum < \$STAGECAST_STEP_DIR/of-step'
    sha256sum < \$STAGECAST_DIR/data"
  submit -N1 -w n4 --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data" job.sh
  wait_job "$JOB" COMPLETED
  [ "$(grep -c "$(sha256sum < "$WORK/data" | cut -c 1-64)" "$OUT")" = 2 ]
  OUT=$WORK/out
  as_alice srun -N4 -w 'n[1-4]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data" /srv/rank.sh > "$OUT"
  staged_everywhere "$OUT" data
}

@test "the rights are those of the ticket's user: another's file comes with that user's ticket only" {
  at_a data 3000000 bob
  local ticket
  run ! ticket_of alice $FILES/data
  [[ "$output" == *"$FILES/data: Permission denied"* ]]
  # The directory is alice's to read, the file in it is not.
  ticket=$(ticket_of alice $FILES)
  CLUSTER_SIZE=2 CODE=1 sbatch_fails -w 'n[1-2]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data"
  grep -q "stagecast: node n1: cluster a, gateway a/n5: $FILES/data: Permission denied" "$OUT"
  ticket=$(ticket_of bob --uid=2001 $FILES/data)
  script 'srun /srv/rank.sh'
  submit -N2 -w 'n[1-2]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data" job.sh
  wait_job "$JOB" COMPLETED
  [ "$(grep -c "$(sha256sum < "$WORK/data" | cut -c 1-64)" "$OUT")" = 2 ]
}

@test "a ticket that is not good is refused at submission, with how to get one" {
  at_a data 1000
  local ticket
  script 'true'
  run ! as_alice sbatch -N1 --stage-file="cluster://a$FILES/data" job.sh
  [[ "$output" == *"files of cluster a need a ticket from there; run 'stagecast ticket --cluster="*" --uid=2001 $FILES/data' in cluster a"* ]]
  ticket=$(ticket_of alice $FILES/data)
  run ! as_alice sbatch -N1 --stage-ticket="$ticket" --stage-file="cluster://a/var/tmp/other" job.sh
  [[ "$output" == *"the ticket is not for /var/tmp/other; "* ]]
  run ! as_alice sbatch -N1 --stage-ticket="${ticket:0:40}" --stage-file="cluster://a$FILES/data" job.sh
  [[ "$output" == *"the ticket is damaged; "* ]]
  run ! as_alice sbatch -N1 --stage-ticket="$(ticket_of alice --uid=2002 $FILES/data)" --stage-file="cluster://a$FILES/data" job.sh
  [[ "$output" == *"the ticket is for user 2002 of cluster b, not for you here; "* ]]
  ticket=$(ticket_of alice --lifetime=1s $FILES/data)
  sleep 2
  run ! as_alice sbatch -N1 --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data" job.sh
  [[ "$output" == *"the ticket has expired; "* ]]
  input here 10
  run ! as_alice sbatch -N1 --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data" --stage-file=here job.sh
  [[ "$output" == *"lie in different clusters; "* ]]
  run ! as_alice sbatch -N1 --stage-file='cluster://a' job.sh
  [[ "$output" == *"write cluster://CLUSTER/PATH"* ]]
}

@test "a forged ticket stages nothing: the message names the gateway" {
  at_a data 1000
  local ticket last
  ticket=$(ticket_of alice $FILES/data)
  last=${ticket: -1}
  ticket=${ticket%?}$([ "$last" = 0 ] && echo 1 || echo 0)
  CLUSTER_SIZE=2 CODE=1 sbatch_fails -w 'n[3-4]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data"
  grep -q 'stagecast: node n3: cluster a, gateway a/n5: the ticket was not issued there' "$OUT"
  no_worker_on n0 n5
  [ "$(log_since stagecastd-n0 | grep -c 'refused files to a job of another cluster')" = 1 ]
}

@test "who may have a ticket: no root, no cluster that is not known, no time beyond the site's" {
  at_a data 1000
  run ! lab on n0 /srv/stagecast/bin/stagecast ticket --cluster=b $FILES/data
  [[ "$output" == *"root's files are pushed"* ]]
  run ! lab on n0 -u alice /srv/stagecast/bin/stagecast ticket --cluster=c $FILES/data
  [[ "$output" == *"no cluster c is known here"* ]]
  run ! ticket_of alice --lifetime=100h $FILES/data
  [[ "$output" == *"at most 86400 s"* ]]
  run ! ticket_of alice $FILES/../a/data
  [[ "$output" == *"goes up by '..'"* ]]
  run ! ticket_of alice $FILES/absent
  [[ "$output" == *"$FILES/absent: No such file or directory"* ]]
  run ! lab on n1 -u alice /srv/stagecast/bin/stagecast ticket --cluster=a /etc/hostname
  [[ "$output" == *"TicketKey in this node's stagecast.conf is empty"* ]]
}

@test "a file that has gone: the job fails with its name, and as the user's error" {
  at_a data 1000
  local ticket
  ticket=$(ticket_of alice $FILES/data)
  for node in n0 n5; do lab on "$node" rm $FILES/data; done
  CLUSTER_SIZE=2 CODE=1 sbatch_fails -w 'n[1-2]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data"
  grep -q "$FILES/data: No such file or directory" "$OUT"
}

@test "the first gateway is down: the second one sends the files" {
  at_a data 3000000
  lab stop n0 stagecastd
  local ticket
  ticket=$(lab on n5 -u alice /srv/stagecast/bin/stagecast ticket --cluster=b $FILES/data)
  script 'srun /srv/rank.sh'
  submit -N2 -w 'n[1-2]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data" job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on n1 n2
}

# import_begins SECONDS [SCRIPT]: a job on n1 and n2 has been getting 60 MB from n0 for that long, at 40 Mbit/s.
import_begins() {
  local ticket
  lab on n0 bash -c 'echo RateMax=40mbit >> /etc/stagecast/stagecast.conf'
  restart_daemon n0
  ticket=$(ticket_of alice $FILES/data)
  script "${2:-echo SCRIPT}"
  submit -N2 -w 'n[1-2]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data" job.sh
  wait_for 20 staging "$JOB" n2
  sleep "$1"
}

@test "the gateway dies in mid-transfer: the second one sends what is missing" {
  at_a data 60000000
  local sent
  import_begins 6 'srun /srv/rank.sh'
  lab on n0 pkill -KILL -x stagecastd
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on n1 n2
  # The second leg was shorter: 60 MB are about 42,000 datagrams.
  sent=$(log_since stagecastd-n5 | sed -n 's/.*worker left job=0.*packets_sent=\([0-9]*\) .*/\1/p' | tail -n 1)
  echo "packets of the second leg: $sent"
  [ "$sent" -lt 36000 ]
}

@test "the file changes while the gateways change: the job fails and says so, with no wrong bytes" {
  at_a data 60000000
  lab on n5 -u alice touch $FILES/data
  import_begins 4
  lab on n0 pkill -KILL -x stagecastd
  wait_job "$JOB" FAILED
  grep -q 'the files have changed in cluster a since they began to come; submit again' "$OUT"
  no_rank_ran "$OUT"
}

@test "the only gateway dies in mid-transfer: the job fails with its name, and nothing is left" {
  at_a data 60000000
  lab stop n5 stagecastd
  import_begins 2
  lab on n0 pkill -KILL -x stagecastd
  wait_job "$JOB" FAILED
  cat "$OUT"
  grep -q 'stagecast: node n1: cluster a, gateway a/n0: ' "$OUT"
  no_rank_ran "$OUT"
}

@test "a cancelled job ends the leg, and the gateway's worker" {
  at_a data 60000000
  import_begins 0
  as_alice scancel "$JOB"
  wait_job "$JOB" CANCELLED
  wait_for 8 no_worker_on n0 n1 n2
}

@test "more than MaxBytes of the receiving cluster is refused before a byte is sent" {
  at_a data 3000000
  lab on n1 bash -c 'echo MaxBytes=1M >> /etc/stagecast/stagecast.conf'
  restart_daemon n1
  local ticket
  ticket=$(ticket_of alice $FILES/data)
  CLUSTER_SIZE=2 CODE=1 sbatch_fails -w 'n[1-2]' --stage-ticket="$ticket" --stage-file="cluster://a$FILES/data"
  grep -q 'the files have 3.0 MB, this site allows 1.0 MB' "$OUT"
}
