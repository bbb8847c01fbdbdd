# Tests that a job's files outside of its directory are removed with it, and that a user cannot abuse that.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() { cluster_up 2; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  lab on n0 pkill -CONT -x stagecastd || true
  for node in "${NODES[@]}"; do
    lab on "$node" bash -c 'pkill -KILL -x bindfs; umount -l /tmp/hangs 2> /dev/null
      rm -rf /var/spool/scratch /var/tmp/private /var/tmp/alice.* /tmp/hangs /tmp/real; true'
  done
  test_ends
}

directory_gone() { lab on n1 test ! -e "/var/spool/stagecast/$1"; }
no_lists() { lab on n1 test ! -e /var/spool/stagecast/.stagecast; }

# victim OWNER: a private directory of OWNER's on n1, and a file of OWNER's that alice may write and link.
victim() {
  lab on n1 bash -c '
    install -d -m 1777 /var/spool/scratch
    install -d -m 2775 -o "$0" -g project /var/spool/scratch/project
    install -m 666 -o "$0" -g project /dev/null /var/spool/scratch/project/shared
    install -d -m 700 -o "$0" /var/tmp/private /var/tmp/private/tree
    echo thesis > /var/tmp/private/thesis; echo x > /var/tmp/private/tree/x
    chown -R "$0" /var/tmp/private' "$1"
}
unharmed() {
  [ "$(lab on n1 cat /var/tmp/private/thesis /var/tmp/private/tree/x)" = $'thesis\nx' ] || { lab on n1 ls -laR /var/tmp/private; return 1; }
}

# A cleanup list that lies in the job's directory, where a user can replace it, must not be followed.
plants_a_list() {
  victim "$1"
  script 'printf "/var/tmp/private/thesis\0/var/tmp/private/tree/\0" > /var/spool/scratch/project/shared || exit 1
    mkdir -p "$STAGECAST_DIR/.stagecast"
    rm -f "$STAGECAST_DIR/.stagecast/remove"
    ln /var/spool/scratch/project/shared "$STAGECAST_DIR/.stagecast/remove" || exit 1
    touch placed; while [ ! -e go ]; do sleep 0.2; done'
  submit -w n1 --stage-file=/etc/services:/var/tmp/alice.y:temp job.sh
  local first=$JOB
  wait_for 30 test -e "$WORK/placed"
  # A second stage of hers, which has no directory on n1 while its first node is silent.
  lab on n0 pkill -STOP -x stagecastd
  script true
  submit -N2 -w n0,n1 --stage-file=/etc/services:/var/tmp/alice.x job.sh
  sleep 3
  touch "$WORK/go"
  wait_job "$first" COMPLETED
  wait_for 15 lab on n1 test ! -e /var/tmp/alice.y
  wait_for 60 job_ended "$JOB"
  lab on n0 pkill -CONT -x stagecastd
  wait_for 30 no_jobs
  wait_for 15 no_lists
  unharmed
}

@test "a list that is a link to another user's file is not followed" {
  input data 1000
  plants_a_list bob
}

@test "a list that is a link to root's file is not followed" {
  input data 1000
  plants_a_list root
}

@test "the lists are root's, and a job can neither read nor reach them" {
  input data 1000
  script 'ls /var/spool/stagecast/.stagecast && echo READ
    touch began; while [ ! -e go ]; do sleep 0.2; done'
  submit -w n1 --stage-file=data:/var/tmp/alice.x:temp job.sh
  wait_for 30 test -e "$WORK/began"
  [ "$(lab on n1 bash -c 'cd /var/spool/stagecast/.stagecast; stat -c "%n %U %a" . *')" = $'. root 700\n2001.2001.'"$JOB root 600" ]
  touch "$WORK/go"
  wait_job "$JOB" COMPLETED
  ! grep READ "$OUT"
  wait_for 15 no_lists
  lab on n1 test ! -e /var/tmp/alice.x
}

@test "another user's directory that is moved into the job's is not emptied by root" {
  lab on n1 bash -c 'install -d -m 2775 -o bob -g project /var/spool/scratch /var/spool/scratch/T
    install -d -m 700 -o bob /var/spool/scratch/T/private; echo thesis > /var/spool/scratch/T/private/thesis'
  run ! lab on n1 -u alice rm -rf /var/spool/scratch/T/private
  as_alice srun -w n1 --stage-file=/etc/services sh -c 'mv /var/spool/scratch/T $STAGECAST_DIR/'
  wait_for 15 bash -c "[ -z \"\$($LAB --name $CLUSTER on n1 ls /var/spool/stagecast)\" ]"
  local left
  left=$(lab on n1 bash -c 'echo /var/spool/stagecast/.stagecast/left.*')
  [ "$(lab on n1 cat "$left/T/private/thesis")" = thesis ]
  log_since stagecastd-n1 | grep "T is a directory of uid 2002; it has been moved to StageRoot/.stagecast/left"
  lab on n1 bash -c 'install -d -m 700 /var/spool/stagecast/.stagecast/left.7 /var/spool/stagecast/.stagecast/left.7/bobs
    chown bob /var/spool/stagecast/.stagecast/left.7/bobs; touch /var/spool/stagecast/.stagecast/left.7/bobs/f'
  restart_daemon n1   # Its sweep, too, leaves what is not alice's, and what is root's.
  sleep 3
  lab on n1 rm /var/spool/stagecast/.stagecast/left.7/bobs/f
  lab on n1 rm -r /var/spool/stagecast/.stagecast/left.7
  [ "$(lab on n1 cat "$left/T/private/thesis")" = thesis ]
  lab on n1 bash -c 'mv "$0"/T /var/spool/scratch/' "$left"   # An administrator's doing.
  restart_daemon n1
  wait_for 20 no_lists
  [ "$(lab on n1 cat /var/spool/scratch/T/private/thesis)" = thesis ]
}

@test "files of a container, of the user's subordinate uids, are removed with the job" {
  lab on n1 bash -c 'printf "alice:100000:65536\nbob:200000:65536\n" > /tmp/subuid; touch /etc/subuid; mount --bind /tmp/subuid /etc/subuid'
  script 'mkdir -p "$STAGECAST_DIR"/mine/usr/lib "$STAGECAST_DIR"/his; touch "$STAGECAST_DIR"/mine/usr/lib/f "$STAGECAST_DIR"/his/f
    touch began; while [ ! -e go ]; do sleep 0.2; done'
  submit -w n1 --stage-file=/etc/services job.sh
  wait_for 30 test -e "$WORK/began"
  # As newuidmap(1) lets a container do it.
  lab on n1 bash -c 'cd /var/spool/stagecast/'"$JOB"'; chown -R 100007:100007 mine; chmod 700 mine; chown -R 200007:200007 his; chmod 700 his'
  touch "$WORK/go"
  wait_job "$JOB" COMPLETED
  wait_for 15 directory_gone "$JOB"
  lab on n1 test ! -e "/var/spool/stagecast/.stagecast/left.$JOB/mine"
  lab on n1 test -e "/var/spool/stagecast/.stagecast/left.$JOB/his/f"
  lab on n1 bash -c 'umount /etc/subuid; rm -rf /var/spool/stagecast/.stagecast /tmp/subuid'
}

@test "a directory of another user's dead job with this job's number is set aside, and removed" {
  local next
  JOB=$(as_alice sbatch --parsable -o /dev/null --wrap true)
  next=$((JOB + 1))
  wait_for 60 job_ended "$JOB"
  lab on n1 bash -c 'install -d -m 700 -o bob -g bob "$0" "$0"/step.0; echo secret > "$0"/step.0/f' "/var/spool/stagecast/$next"
  script 'ls -A "$STAGECAST_DIR"; cmp "$STAGECAST_FILES" /etc/services && echo GOOD'
  submit -w n1 --stage-file=/etc/services job.sh
  [ "$JOB" = "$next" ]
  wait_job "$JOB" COMPLETED
  grep GOOD "$OUT"
  ! grep step.0 "$OUT"
  wait_for 15 directory_gone "$JOB"
  restart_daemon n1
  wait_for 20 no_lists
}

# processes USER: of stagecastd's, that act as USER on n1.
processes() { lab on n1 bash -c 'pgrep -c -u "$0" -f sbin/stagecastd || true' "$1"; }

has_process() { [ "$(processes "$1")" -ge 1 ]; }

@test "a hundred endings whose paths hang: one process of that user waits, and others' files go" {
  lab on n1 -u alice bash -ec 'mkdir -p /tmp/real /tmp/hangs; touch /tmp/real/f{1..100}
    bindfs --no-allow-other /tmp/real /tmp/hangs; ls /tmp/hangs > /dev/null; pkill -STOP -u alice bindfs'
  lab on n1 bash -c 'mkdir -m 700 /var/spool/stagecast/.stagecast
    for i in {1..100}; do printf "/tmp/hangs/f$i\0" > /var/spool/stagecast/.stagecast/2001.2001.$((900000 + i)); done'
  restart_daemon n1   # Its sweep ends these jobs, of which Slurm knows nothing.
  wait_for 20 has_process alice
  local round
  for round in 1 2 3; do
    lab exec -u bob -d /tmp timeout 60 srun -w n1 --stage-file=/etc/services:/var/tmp/bobs.file:temp cmp /etc/services /var/tmp/bobs.file
    wait_for 10 lab on n1 test ! -e /var/tmp/bobs.file
    [ "$(processes alice)" -le 1 ]
  done
  lab on n1 pkill -CONT -u alice bindfs
  wait_for 60 lab on n1 bash -c '[ -z "$(ls /tmp/real)" ]'
  wait_for 20 no_lists
}

@test "a stage that begins while temporary files are removed waits, and has its file" {
  input data 1000
  lab on n1 -u alice bash -c 'mkdir -p /tmp/real /tmp/hangs && bindfs --no-allow-other /tmp/real /tmp/hangs'
  script 'touch began; while [ ! -e go ]; do sleep 0.2; done'
  submit -w n1 --stage-file=data:/tmp/hangs/f:temp --stage-file=data:/var/tmp/alice.x:temp job.sh
  wait_for 30 test -e "$WORK/began"
  lab on n1 pkill -STOP -u alice bindfs
  touch "$WORK/go"
  wait_job "$JOB" COMPLETED
  # It is held up by what hangs: the second job must not find a file that then goes.
  script 'cmp /var/tmp/alice.x data && echo SAME'
  submit -w n1 --stage-file=data:/var/tmp/alice.x:temp job.sh
  sleep 3
  lab on n1 pkill -CONT -u alice bindfs
  wait_job "$JOB" COMPLETED
  grep SAME "$OUT"
  wait_for 15 lab on n1 test ! -e /var/tmp/alice.x
  wait_for 10 no_lists
}
