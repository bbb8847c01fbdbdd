# Tests that StageFrom decides whether files are staged before or after the site's own Prolog.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

# The site's script wipes and makes a scratch, on each node, and says what it found.
prolog_script() {
  cat > "$(lab path)/srv/prolog.sh" <<'SCRIPT'
#!/bin/bash
rm -rf /tmp/scratch
install -d -m 700 -o "$SLURM_JOB_UID" /tmp/scratch
echo "staged before: $(find "/var/spool/stagecast/$SLURM_JOB_ID" -name data 2>/dev/null | wc -l)" > /run/lab/prolog.said
/srv/stagecast/bin/stagecast prolog 2>> /run/lab/prolog.said
echo "rc $?" >> /run/lab/prolog.said
exit 0
SCRIPT
  chmod 755 "$(lab path)/srv/prolog.sh"
}

setup_file() {
  cluster_up 2 --conf Prolog=/srv/prolog.sh --stagecast StageFrom=prolog-script
  prolog_script
}
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() {
  local node
  for node in "${NODES[@]}"; do lab on "$node" bash -c 'rm -rf /tmp/scratch /run/lab/prolog.said'; done
  heal
  test_ends
}

@test "with prolog-script the destination may be a directory of the script" {
  input data 1000000
  OUT=$WORK/out
  as_alice srun -N2 --stage-file=data:/tmp/scratch/data --stage-file=data bash -c \
    'sha256sum < /tmp/scratch/data; sha256sum < $STAGECAST_DIR/data' > "$OUT"
  [ "$(grep -c "$(sha256sum < "$WORK/data" | cut -c 1-64)" "$OUT")" = 4 ]
  [ "$(lab on n1 cat /run/lab/prolog.said)" = $'staged before: 0\nrc 0' ]
}

@test "a failure fails the job, not the node, and the script gets the reason" {
  rm -f "$WORK/nowhere"
  sbatch_fails --stage-file=nowhere::late
  lab on n1 grep -q 'stagecast prolog: node n0: .*nowhere: No such file' /run/lab/prolog.said
  lab on n1 grep -qx 'rc 0' /run/lab/prolog.said
}

@test "a script that does not call stagecast is named, not the plugin" {
  input data 1000
  lab exec sed -i.kept '/stagecast prolog/d' /srv/prolog.sh
  run ! as_alice srun -N2 --stage-file=data true
  lab exec mv /srv/prolog.sh.kept /srv/prolog.sh
  [[ $output == *"knows nothing of this job"*"as StageFrom=prolog-script wants"* ]]
}

@test "a job without the option costs nothing, and a call by hand prints the usage" {
  as_alice srun -N2 true
  [ "$(lab on n1 cat /run/lab/prolog.said)" = $'staged before: 0\nrc 0' ]
  run -64 lab on n1 env SPANK_STAGECAST_SPECS=x /srv/stagecast/bin/stagecast prolog
  [[ $output == *'Prolog script'* ]]
}

@test "without it the plugin stages before the script" {
  local node
  input data 1000
  for node in "${NODES[@]}"; do
    lab on "$node" bash -c 'cp /etc/stagecast/stagecast.conf /run/lab/conf; sed -i /StageFrom/d /etc/stagecast/stagecast.conf'
  done
  as_alice srun -N2 --stage-file=data true
  [ "$(lab on n1 cat /run/lab/prolog.said)" = $'staged before: 1\nrc 0' ]
}
