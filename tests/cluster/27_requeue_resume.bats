# Tests that a requeued job resumes an interrupted stage and verifies everything that is there.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/cache

setup_file() {
  cluster_up 4 --conf AuthInfo=cred_expire=15 --stagecast CacheDir=$CACHE --stagecast CacheSize=200M --stagecast RateMax=80mbit \
    --stagecast ConnectTimeout=2
}
teardown_file() { cluster_down; }
setup() {
  test_begins
  local node
  for node in "${NODES[@]}"; do lab on "$node" /srv/stagecast/bin/stagecast cache rm --all; done
}
teardown() { heal; test_ends; }

BYTES=80000000
WHOLE=$((BYTES / 1444))

# came_to NODE BYTES [NAME SIZE]: so much of data is there, by the note of what is being written.
came_to() {
  lab on "$1" bash -c 'for f in /var/spool/stagecast/'"$JOB/.${3:-data}"'.stagecast.*; do
    n=$(tail -c +'$((${4:-$BYTES} + 57))' "$f" | xxd -p -c 16 | grep -vc "^0*$") && [ "$((n * 1048576))" -ge "$0" ] && exit 0; done; exit 1' "$2"
}
parts() { lab on "$1" find $CACHE -name 'p.*'; }
all_have_parts() {
  local node
  for node in "${NODES[@]}"; do [ -n "$(parts "$node")" ] || return 1; done
}
none_has_parts() {
  local node
  for node in "${NODES[@]}"; do [ -z "$(parts "$node")" ] || return 1; done
}

# job_until BYTES COMMAND...: a job on all nodes whose stage COMMAND breaks off when n2 has so much.
job_until() {
  local bytes=$1
  shift
  script "srun /srv/rank.sh"
  submit -N4 -w 'n[0-3]' --stage-file=data job.sh
  wait_for 40 came_to n2 "$bytes"
  "$@"
}
requeue() { lab exec scontrol requeue "$JOB"; }
kill_worker() { lab on "$1" pkill -KILL -u alice -x stagecast-worke; }
pending() { [ "$(job_field "$JOB" JobState)" = PENDING ] && no_completing "$JOB"; }
ended_n0() { [ "$(log_since stagecastd-n0 | grep -c 'worker left ')" -gt "$1" ]; }
lives() { log_since stagecastd-n0 | grep -c 'worker left ' || true; }

# again [USER]: the same job another time, to its end; SENT is what its source sent.
again() {
  local before
  before=$(lives)
  submit -N4 -w 'n[0-3]' --stage-file=data job.sh
  completes "$before"
}
completes() {
  wait_job "$JOB" COMPLETED
  wait_for 20 ended_n0 "$1"
  SENT=$(log_since stagecastd-n0 | sed -n "s/.*worker left job=$JOB .*packets_sent=\([0-9]*\).*/\1/p" | tail -n 1)
  echo "$SENT of $WHOLE packets"
}
sent_percent() { [ "$SENT" -gt "$((WHOLE * $1 / 100))" ] && [ "$SENT" -lt "$((WHOLE * $2 / 100))" ]; }

@test "requeued in mid-stage: the rest is sent, and then no part is left" {
  old_input data "$BYTES"
  job_until 24000000 requeue
  wait_for 30 pending
  wait_for 20 all_have_parts
  [ "$(lab on n1 bash -c "stat -c %a:%U $CACHE/2001/p.*")" = 400:root ]
  completes "$(lives)"
  staged_everywhere "$OUT" data
  sent_percent 10 80
  wait_for 20 none_has_parts
}

@test "a worker is killed, a daemon begins anew: the next job goes on" {
  old_input data "$BYTES"
  job_until 40000000 kill_worker n2
  wait_job "$JOB" FAILED
  wait_for 20 all_have_parts
  restart_daemon n1
  again
  staged_everywhere "$OUT" data
  sent_percent 10 65
}

@test "a daemon is killed, and the data of its node is lost: all is sent, to all" {
  old_input data "$BYTES"
  job_until 40000000 lab on n3 bash -c 'kill -KILL "$(cat /run/lab/stagecastd.pid)"'
  wait_for 60 job_ended "$JOB"
  start_daemon n3
  wait_for 20 no_completing "$JOB"
  again
  staged_everywhere "$OUT" data
  sent_percent 95 200
}

@test "the source changed meanwhile, with its size and its time: everything again" {
  old_input data "$BYTES"
  job_until 40000000 kill_worker n2
  wait_job "$JOB" FAILED
  wait_for 20 all_have_parts
  old_input data "$BYTES"
  again
  staged_everywhere "$OUT" data
  sent_percent 95 200
}

@test "a byte of one node's part is spoilt: it is noticed, and only what follows is sent" {
  old_input data "$BYTES"
  job_until 48000000 kill_worker n2
  wait_job "$JOB" FAILED
  wait_for 20 all_have_parts
  lab on n3 bash -c 'printf x | dd of="$0" bs=1 seek=20000000 conv=notrunc status=none' "$(parts n3)"
  again
  staged_everywhere "$OUT" data
  sent_percent 65 90
}

@test "two files, broken off in the second one: of that the rest is sent" {
  old_input data "$BYTES"
  old_input more 40000000
  script "srun /srv/rank.sh"
  submit -N4 -w 'n[0-3]' --stage-file=data --stage-file=more job.sh
  wait_for 40 came_to n2 12000000 more 40000000
  kill_worker n2
  wait_job "$JOB" FAILED
  wait_for 20 all_have_parts
  wait_for 20 both_parts n1
  local before
  before=$(lives)
  submit -N4 -w 'n[0-3]' --stage-file=data --stage-file=more job.sh
  completes "$before"
  staged_everywhere "$OUT" data more
  # 28 MB are 35 % of the first one's.
  sent_percent 5 45
  wait_for 20 none_has_parts
}
both_parts() { [ "$(parts "$1" | wc -l)" = 2 ]; }

@test "a job of one node doesn't read again what it has" {
  old_input data "$BYTES"
  fault n1 "read 50 $T/"
  script "srun /srv/rank.sh"
  submit -N1 -w n1 --stage-file=data job.sh
  wait_for 40 came_to n1 24000000
  kill_worker n1
  wait_job "$JOB" FAILED
  no_fault n1
  wait_for 20 has_part n1
  submit -N1 -w n1 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  staged_everywhere "$OUT" data on n1
  local read
  read=$(lab on n1 /srv/stagecast/bin/stagecast explain "$JOB" --json | jq '.ended[0].bytes_read')
  echo "$read bytes read"
  [ "$read" -gt 0 ]
  [ "$read" -le "$((BYTES - 24000000))" ]
  wait_for 20 none_has_parts
}
has_part() { [ -n "$(parts "$1")" ]; }

@test "one node reads slowly what it has: the others wait for a limited time, and the rest is sent" {
  old_input data "$BYTES"
  job_until 48000000 kill_worker n2
  wait_job "$JOB" FAILED
  wait_for 20 all_have_parts
  # Some forty blocks; and the two seconds that it may take end well before the second one is here.
  fault n3 "read 1500 $CACHE/"
  again
  no_fault n3
  staged_everywhere "$OUT" data
  sent_percent 80 110
}

@test "another user's job with the same file has nothing of it" {
  old_input data "$BYTES" 644
  chmod 755 "$ALICE" "$WORK"
  job_until 40000000 kill_worker n2
  wait_job "$JOB" FAILED
  wait_for 20 all_have_parts
  install -d -m 700 -o 2002 -g 2002 "$WORK/bob"
  cp "$WORK/job.sh" "$WORK/bob/"
  local before
  before=$(lives)
  JOB=$(lab exec -u bob -d "$T/bob" sbatch --parsable -N4 -w 'n[0-3]' "--stage-file=$T/data" job.sh)
  completes "$before"
  sent_percent 95 200
  # And hers is still there.
  again
  chmod 700 "$ALICE"
  staged_everywhere "$OUT" data
  sent_percent 10 65
}

@test "a part counts, and goes when others need its room" {
  old_input data "$BYTES"
  job_until 40000000 kill_worker n2
  wait_job "$JOB" FAILED
  wait_for 20 all_have_parts
  lab on n1 /srv/stagecast/bin/stagecast cache ls | grep -q ' alice  a part$'
  local name
  for name in one two three; do
    old_input "$name" 70000000
    submit -N4 -w 'n[0-3]' "--stage-file=$name" job.sh
    wait_job "$JOB" COMPLETED
  done
  wait_for 30 none_has_parts
  local node
  for node in "${NODES[@]}"; do [ "$(lab on "$node" du -s --block-size=1 $CACHE | cut -f 1)" -le $((200 << 20)) ]; done
}
