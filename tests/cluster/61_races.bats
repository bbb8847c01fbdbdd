# Tests that a user who moves links and directories during staging cannot make root touch anything outside.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() {
  cluster_up 2 --stagecast DestRoots=/tmp,/var/tmp,/var/spool/scratch
  local node   # A project's directory, in which bob may rename what alice goes through.
  for node in "${NODES[@]}"; do lab on "$node" install -d -m 2775 -o bob -g project /var/spool/scratch; done
  install -m 755 "$CLUSTER_TESTS"/attack/swap.py "$CLUSTER_DIR/srv/"
}
teardown_file() { cluster_down; }
setup() {
  test_begins
  # A directory of bob's that alice may write to, and one of hers that she would not like to lose.
  lab on n1 bash -c 'install -d -m 2775 -o bob -g project /var/spool/scratch/bobs; install -d -m 755 -o alice /var/tmp/precious /var/tmp/precious/tree
    echo precious > /var/tmp/precious/data; echo precious > /var/tmp/precious/tree/file; chown -R alice /var/tmp/precious
    install -d -m 777 /var/tmp/outside; cp -r /var/tmp/precious /run/lab/roots; chmod -R 666 /run/lab/roots/data'
  lab on n0 install -d -m 2775 -o bob -g project /var/spool/scratch/bobs
}
teardown() {
  lab on n1 bash -c 'pkill -KILL -f "^[^ ]*python3 /srv/swap.py"; pkill -KILL -x bindfs; true'
  local node
  for node in "${NODES[@]}"; do
    lab on "$node" rm -rf /var/spool/scratch/bobs /var/spool/scratch/bobs.aside /var/tmp/precious /var/tmp/outside /run/lab/roots
  done
  test_ends
}

unharmed() {
  [ "$(lab on n1 cat /var/tmp/precious/data /var/tmp/precious/tree/file)" = $'precious\nprecious' ] || { echo "alice's own files are gone"; return 1; }
  [ "$(lab on n1 cat /run/lab/roots/data)" = precious ] || { echo "root's file was touched"; return 1; }
  [ -z "$(lab on n1 find /var/tmp/outside -mindepth 1)" ] || { lab on n1 find /var/tmp/outside; return 1; }
}

# swapping DIRECTORY TARGET as USER: until the test ends.
swapping() {
  lab on n1 -u "$3" timeout 60 /srv/swap.py "${4:-20}" "$1" "$2" < /dev/null > "$WORK/swapped" 2>&1 3>&- &
}

@test "a temporary file in another user's directory, which becomes a link to one's own, is not removed there" {
  input data 1000
  mkdir "$WORK/tree" && cp "$WORK/data" "$WORK/tree/file" && chown -R 2001:2001 "$WORK/tree"
  script 'touch began; while [ ! -e go ]; do sleep 0.1; done'
  submit -N2 --stage-file=data:/var/spool/scratch/bobs/data:temp --stage-file=tree:/var/spool/scratch/bobs/tree:temp job.sh
  wait_for 60 test -e "$WORK/began"
  lab on n1 -u bob mv /var/spool/scratch/bobs /var/spool/scratch/bobs.aside 2> /dev/null || lab on n1 mv /var/spool/scratch/bobs /var/spool/scratch/bobs.aside
  lab on n1 -u bob ln -s /var/tmp/precious /var/spool/scratch/bobs
  touch "$WORK/go"
  wait_job "$JOB" COMPLETED
  wait_for 15 no_job_directory
  unharmed
  lab on n0 test ! -e /var/spool/scratch/bobs/data   # without an attack it is gone
  lab on n0 test ! -e /var/spool/scratch/bobs/tree
}
no_job_directory() { [ -z "$(lab on n1 ls /var/spool/stagecast)" ]; }

@test "a destination whose directory is swapped for a link, again and again: nothing is written or removed behind it" {
  input data 2000000
  lab on n1 install -d -m 2775 -o bob -g project /var/spool/scratch/bobs/in
  lab on n0 install -d -m 2775 -o bob -g project /var/spool/scratch/bobs/in
  swapping /var/spool/scratch/bobs/in /var/tmp/precious bob
  local round
  for round in 1 2 3 4 5; do
    # Whether it works or not is luck; what it may never do is to go through the link.
    as_alice srun -N2 --stage-file=data:/var/spool/scratch/bobs/in/data:overwrite+temp true > "$WORK/said" 2>&1 || true
    unharmed
  done
  lab on n1 pkill -TERM -f 'python3 /srv/swap.py' || true
  wait
}

@test "in the job's directory a process that outlives the job swaps directories for links while it is removed" {
  input data 1000
  script 'srun -N2 bash -c "cd \$STAGECAST_DIR && mkdir -p a/b d && for i in {1..300}; do echo x > a/b/\$i; echo x > d/\$i; done"
    srun -w n1 -N1 bash -c "cd \$STAGECAST_DIR && (setsid /srv/swap.py 6 \$PWD/a /var/tmp/precious < /dev/null > /dev/null 2>&1 &
      setsid /srv/swap.py 6 \$PWD/d/../a/b /run/lab/roots < /dev/null > /dev/null 2>&1 &) ; sleep 0.3"'
  submit -N2 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  wait_for 30 no_job_directory || lab on n1 find /var/spool/stagecast
  unharmed
}

@test "a hard link to another's file in the job's directory: it keeps its owner, mode and content" {
  input data 1000
  # (A kernel without protected_hardlinks would let alice do this herself.)
  script 'echo $STAGECAST_DIR > where; chmod 700 $STAGECAST_DIR; touch began; while [ ! -e go ]; do sleep 0.1; done'
  submit -N2 --stage-file=data job.sh
  wait_for 60 test -e "$WORK/began"
  lab on n1 bash -c 'echo precious > /var/spool/rootfile; chmod 600 /var/spool/rootfile; cd /var/spool/stagecast/[0-9]*
    install -d -m 000 -o alice locked; ln /var/spool/rootfile hard; ln /var/spool/rootfile locked/hard'
  touch "$WORK/go"
  wait_job "$JOB" COMPLETED
  wait_for 20 no_job_directory
  [ "$(lab on n1 bash -c 'stat -c "%U %a %h" /var/spool/rootfile; cat /var/spool/rootfile; rm /var/spool/rootfile')" = $'root 600 1\nprecious' ]
}

@test "another user waits with links under every temporary name that a job could choose" {
  input data 200000
  local next
  next=$(($(lab exec bash -c 'scontrol show job -o | grep -o "^JobId=[0-9]*" | cut -d = -f 2 | sort -n | tail -n 1') + 1))
  lab on n1 -u bob bash -c 'cd /var/spool/scratch/bobs && for job in $(seq "$0" $(("$0" + 3))); do for rank in 0 1; do
    ln -s /var/tmp/precious/data ".data.stagecast.$job.$rank"; done; done' "$next"
  as_alice srun -N2 --stage-file=data:/var/spool/scratch/bobs/data /srv/rank.sh > "$WORK/said" 2>&1 || true
  unharmed
  # Either it went past them, or it failed with an error message.
  staged_everywhere "$WORK/said" data > /dev/null || node_sentence "$WORK/said" n1 /var/spool/scratch/bobs
}

@test "24,000 files do not hold up the epilog: the next job starts, and they go" {
  input data 1000
  script 'srun -N2 bash -c "cd \$STAGECAST_DIR && mkdir m && cd m && for d in {1..60}; do mkdir \$d; (cd \$d; eval touch {1..400}); done"'
  submit -N2 --stage-file=data job.sh
  wait_job "$JOB" COMPLETED
  wait_for 10 nodes_idle
  as_alice srun -N2 --stage-file=data true
  wait_for 60 no_job_directory
}

@test "file systems whose servers hang, mounted over the job's directory and in it: they are detached, and the files go" {
  input data 1000
  script 'mkdir "$STAGECAST_DIR/sub"; echo x > "$STAGECAST_DIR/sub/below"; touch began; while [ ! -e go ]; do sleep 0.1; done'
  submit -w n1 --stage-file=data job.sh
  wait_for 60 test -e "$WORK/began"
  lab on n1 bash -c 'mkdir /tmp/below && for over in "$0/sub" "$0" "$0"; do bindfs -o nonempty,allow_other /tmp/below "$over" || exit 1; done
    pkill -STOP -x bindfs' "/var/spool/stagecast/$JOB"
  touch "$WORK/go"
  wait_job "$JOB" COMPLETED
  wait_for 30 lab on n1 test ! -e "/var/spool/stagecast/$JOB"
  lab on n1 bash -c 'pkill -KILL -x bindfs; rmdir /tmp/below; ! grep /var/spool/stagecast/ /proc/self/mounts'
}

@test "a file system whose server hangs over the directory of a job that is over: the node serves others, and cleans up when it is gone" {
  JOB=999999
  lab stop n1 stagecastd
  lab on n1 bash -c "install -d -m 700 -o alice -g alice /var/spool/stagecast/$JOB; mkdir /tmp/below
    bindfs -o nonempty,allow_other /tmp/below /var/spool/stagecast/$JOB || exit 1
    pkill -STOP -x bindfs"
  lab start n1 stagecastd
  lab exec -u bob -d /tmp timeout -k 5 "$JOB_TIMEOUT" srun -N2 --stage-file=/etc/services \
    bash -c 'cmp $STAGECAST_DIR/services /etc/services && echo same' > "$WORK/out"
  [ "$(grep -cx same "$WORK/out")" = 2 ]
  wait_for 20 mount_is_reported
  lab on n1 bash -c "pkill -KILL -x bindfs; umount -l /var/spool/stagecast/$JOB; rmdir /tmp/below"
  lab stop n1 stagecastd
  lab start n1 stagecastd
  wait_for 30 no_job_directory
}
mount_is_reported() { grep -q "cannot remove a job's files.*job=$JOB.*is a mount point; unmount it" "$CLUSTER_DIR/log/stagecastd-n1.log"; }
