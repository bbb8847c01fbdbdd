# Tests the metrics, and that no user can mislead the daemon by their file.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() {
  cluster_up 2 --stagecast MetricsFile=/run/lab/metrics/stagecast.prom --stagecast PushRoots=/var/tmp/push --stagecast PushFrom=n0
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { heal; test_ends; }

METRICS=/run/lab/metrics/stagecast.prom

# The directory came after the daemon: SIGHUP has it written at once.
now() { lab on "$1" bash -c 'mkdir -p /run/lab/metrics; kill -HUP "$(cat /run/lab/stagecastd.pid)"'; }
value() { lab on "$1" cat "$METRICS" | awk -v name="stagecast_$2" '$1 == name { print $2 }'; }
is() { now "$1"; [ "$(value "$1" "$2")" = "$3" ]; }

@test "a directory that is not there is a line in the log; the file comes once it is" {
  daemon_said() { grep -q "cannot write MetricsFile" "$CLUSTER_DIR/log/stagecastd-n1.log"; }
  wait_for 10 daemon_said
  now n1
  wait_for 10 lab on n1 test -s "$METRICS"
  [ "$(lab on n1 stat -c %a:%U "$METRICS")" = 644:root ]
  [ "$(lab on n1 bash -c 'ls /run/lab/metrics | wc -l')" = 1 ]
}

@test "jobs are counted: one that is staged, one that fails, its bytes" {
  input data 3000000
  now n1
  wait_for 10 is n1 stages_running 0
  local begun
  begun=$(value n1 stages_begun_total)
  as_alice srun -N2 --stage-file=data true
  wait_for 10 is n1 'stages_total{role="job",verdict="ok"}' 1
  wait_for 10 is n1 staged_bytes_total 3000000
  wait_for 10 is n1 'workers_total{fabric="udp"}' 1
  [ "$(value n1 'packets_total{what="received"}')" -gt 1000 ]
  [ "$(value n1 workers_unreached_total)" = 0 ]
  [ "$(value n1 stages_waiting)" = 0 ]
  wait_for 10 is n1 stage_seconds_count 1
  wait_for 10 is n1 stages_begun_total $((begun + 1))
  srun_fails --stage-file=data:/nowhere/%j
  wait_for 10 is n1 'stages_total{role="job",verdict="failed",blame="user"}' 1
  wait_for 10 is n1 'stages_total{role="job",verdict="ok"}' 1
}

@test "the first node counts the node at fault by name, and that one nothing" {
  input data 1000
  for node in n0 n1; do now $node; wait_for 10 lab on $node test -s "$METRICS"; done
  lab stop n1 stagecastd
  CODE=75 srun_fails --stage-file=data
  start_daemon n1
  wait_for 10 is n0 'node_failures_total{culprit="n1"}' 1
  [ -z "$(value n0 'node_failures_total{culprit="n0"}')" ]
  now n1
  wait_for 10 lab on n1 test -s "$METRICS"
  [ -z "$(value n1 'node_failures_total{culprit="n0"}')" ]
}

@test "every line is a comment or a sample, and no job's name is in it" {
  now n0
  wait_for 10 lab on n0 test -s "$METRICS"
  lab on n0 cat "$METRICS" > "$WORK/text"
  run ! grep -Ev '^(# (HELP|TYPE) stagecast_[a-z_]+ .+|stagecast_[a-z_]+(\{[a-z]+="[^"]*"(,[a-z]+="[^"]*")*\})? [0-9.]+)$' "$WORK/text"
  run ! grep -qi alice "$WORK/text"
}

@test "a push is brought to its nodes, and counts apart where it comes from" {
  local before source=/var/tmp/pushed-from
  lab on n1 install -d -m 755 /var/tmp/push
  lab on n0 bash -c "head -c 2000000 /dev/urandom > $source"
  for node in n0 n1; do now $node; wait_for 10 lab on $node test -s "$METRICS"; done
  before=$(value n0 staged_bytes_total)
  local brought
  brought=$(value n1 staged_bytes_total)
  lab on n0 /srv/stagecast/bin/stagecast push -w n1 $source /var/tmp/push/f
  wait_for 10 is n1 staged_bytes_total $((brought + 2000000))
  wait_for 10 is n0 pushed_bytes_total 2000000
  is n0 staged_bytes_total "$before"
  is n0 'stages_total{role="source",verdict="ok"}' 1
  is n1 'stages_total{role="push",verdict="ok"}' 1
  lab on n0 rm -f $source
  lab on n1 rm -rf /var/tmp/push
}

@test "promtool finds nothing to say of it" {
  command -v promtool > /dev/null || skip 'no promtool (package prometheus)'
  now n0
  wait_for 10 lab on n0 test -s "$METRICS"
  lab on n0 cat "$METRICS" | promtool check metrics > "$WORK/said" 2>&1 || { cat "$WORK/said"; false; }
  [ ! -s "$WORK/said" ] || { cat "$WORK/said"; false; }
}

@test "the dashboard and the alerts ask for metrics that there are" {
  local examples=$CLUSTER_TESTS/../../etc/examples one
  now n0
  wait_for 10 lab on n0 test -s "$METRICS"
  lab on n0 cat "$METRICS" | sed -n 's/^\(stagecast_[a-z_]*\)[ {].*/\1/p' | sort -u > "$WORK/known"
  jq -e '.panels | length > 10' "$examples/stagecast.dashboard.json" > /dev/null
  # No panel lies on another.
  jq -e '[.panels[].gridPos | [.x, .y]] | (unique | length) == length' "$examples/stagecast.dashboard.json" > /dev/null
  jq -r '.panels[].targets[].expr' "$examples/stagecast.dashboard.json" > "$WORK/asked"
  sed -n 's/^ *\(- alert: .*\)$//; /stagecast_/p' "$examples/stagecast.rules.yml" >> "$WORK/asked"
  for one in $(grep -o 'stagecast_[a-z_]*' "$WORK/asked" | sort -u); do
    grep -qx "$one" "$WORK/known" || { echo "no metric $one"; cat "$WORK/known"; false; }
  done
}

@test "a link in the file's way is replaced, what it points to is left alone" {
  now n0
  wait_for 10 lab on n0 test -s "$METRICS"
  lab on n0 bash -c "echo precious > /run/lab/precious; ln -sf /run/lab/precious $METRICS; ln -sf /run/lab/precious $METRICS.stagecast"
  now n0
  wait_for 10 lab on n0 bash -c "[ ! -L $METRICS ] && [ ! -e $METRICS.stagecast ]"
  [ "$(lab on n0 cat /run/lab/precious)" = precious ]
}

@test "a daemon that was stopped leaves no old numbers" {
  now n1
  wait_for 10 lab on n1 test -s "$METRICS"
  lab stop n1 stagecastd
  lab on n1 test ! -e "$METRICS"
  start_daemon n1
  wait_for 10 lab on n1 test -s "$METRICS"
}
