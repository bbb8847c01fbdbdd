# Tests that a job that does not ask for staging pays nothing for it.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() {
  cluster_up 2
  gcc -O2 -shared -fPIC -o "$CLUSTER_DIR/srv/null.so" "$CLUSTER_TESTS/fault/null_plugin.c"
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  lab on n0 bash -c 'umount /etc/slurm/plugstack.conf 2>/dev/null; pkill -KILL strace; true'
  heal
  test_ends
}

# traced FILE: what slurmd of n0 and its children open, connect to and fork for one srun and one sbatch.
traced() {
  lab on n0 bash -c 'strace -f -qq -e trace=open,openat,connect,fork,vfork,clone,clone3,execve -o /var/log/strace-n0 \
    -p "$(cat /run/lab/slurmd.pid)"' < /dev/null > /dev/null 2>&1 3>&- &
  wait_for 10 lab on n0 bash -c 'grep -q "^TracerPid:[[:space:]]*[1-9]" "/proc/$(cat /run/lab/slurmd.pid)/status"'
  as_alice srun -w n0 -N1 true
  submit -w n0 -N1 -o /dev/null --wrap true
  wait_job "$JOB" COMPLETED
  wait_for 20 no_jobs
  sleep 1   # the epilog's last children
  lab on n0 pkill -INT strace
  wait
  normalised < "$CLUSTER_DIR/log/strace-n0" > "$1"
  rm "$CLUSTER_DIR/log/strace-n0"
}

# Numbers (processes, jobs, ports) say nothing; neither do results, nor the plugin's own name.
normalised() {
  grep -E '^[0-9]+ +(open|openat|connect|fork|vfork|clone|clone3|execve)\(' | grep -v 'CLONE_THREAD' \
    | sed -E 's/^[0-9]+ +//; s/ = .*//; s/<unfinished.*//; s/child_tidptr.*|parent_tid.*|stack=.*//; s/[ )]+$//' \
    | sed -E 's#/srv/null.so|/srv/stagecast/lib/slurm/stagecast.so#PLUGIN#; s/0x[0-9a-f]+/H/g; s/[0-9]+/N/g' \
    | sort | uniq -c
}

@test "no connect, open or fork that an empty plugin would not have" {
  command -v strace > /dev/null || skip 'no strace'
  lab on n0 bash -c 'echo "optional /srv/null.so" > /run/lab/plugstack; mount --bind /run/lab/plugstack /etc/slurm/plugstack.conf'
  traced "$WORK/warm-up"
  traced "$WORK/null"
  lab on n0 umount /etc/slurm/plugstack.conf
  traced "$WORK/warm-up"
  traced "$WORK/stagecast"
  # Kinds first: nothing of a new kind. Then our own names. (slurmd asks a step that still ends, which is
  # a matter of milliseconds: in one of the two it may find none.)
  kinds "$WORK/null" > "$WORK/null.kinds"
  kinds "$WORK/stagecast" > "$WORK/stagecast.kinds"
  comm -13 "$WORK/null.kinds" "$WORK/stagecast.kinds" > "$WORK/more"
  [ ! -s "$WORK/more" ] || { echo "only with stagecast:"; cat "$WORK/more"; false; }
  run ! grep -q 'stagecastd\|stagecast.conf' "$WORK/stagecast"
  # As many processes as before.
  [ "$(forks < "$WORK/stagecast")" -le "$(forks < "$WORK/null")" ] || { diff "$WORK/null" "$WORK/stagecast"; false; }
  [ "$(connects < "$WORK/stagecast")" -le "$(connects < "$WORK/null")" ] || { diff "$WORK/null" "$WORK/stagecast"; false; }
}
kinds() { sed -E 's/^ *[0-9]+ //' "$1" | grep -v '^connect(.*"/var/spool/slurmd/' | sort -u; }
forks() { awk '$2 ~ /^(fork|vfork|clone|clone3)/ { n += $1 } END { print n + 0 }'; }
# (slurmd asks its own steps as often as it finds them still ending.)
connects() { grep -v '"/var/spool/slurmd/' | awk '$2 ~ /^connect/ { n += $1 } END { print n + 0 }'; }

@test "it runs with the daemon absent and the configuration broken or gone" {
  local node
  for node in n0 n1; do lab stop "$node" stagecastd; done
  as_alice srun -N2 hostname | sort | tr '\n' ' ' | grep -qx 'n0 n1 '
  for node in n0 n1; do lab on "$node" bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; echo nonsense > /etc/stagecast/stagecast.conf'; done
  as_alice srun -N2 hostname | sort | tr '\n' ' ' | grep -qx 'n0 n1 '
  for node in n0 n1; do lab on "$node" rm /etc/stagecast/stagecast.conf; done
  submit -N2 --wrap 'srun hostname'
  wait_job "$JOB" COMPLETED
  [ "$(sort "$OUT" | tr '\n' ' ')" = 'n0 n1 ' ]
  run ! grep -q stagecast "$OUT"
}

@test "nothing of stagecast's is in its environment" {
  as_alice srun -N2 env > "$WORK/env"
  run ! grep -i stagecast "$WORK/env"
}

@test "Enabled=no: a job that asks for staging fails with an error, others run" {
  input data 1000
  local node
  for node in n0 n1; do
    lab on "$node" bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; echo Enabled=no >> /etc/stagecast/stagecast.conf'
    lab stop "$node" stagecastd
    lab start "$node" stagecastd
  done
  sbatch_fails --stage-file=data
  node_sentence "$OUT" 'n[01]' 'Enabled'
  as_alice srun -N2 true
  for node in n0 n1; do lab stop "$node" stagecastd || true; done
}
