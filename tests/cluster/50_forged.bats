# Tests that a forged environment of the prolog harms no node and no other user's file.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault

setup_file() {
  cluster_up 2
  gcc -O2 -shared -fPIC -o "$CLUSTER_DIR/srv/forge.so" "$CLUSTER_TESTS/attack/forge.c"
  # alice's own plugstack: what sbatch loads is whatever SLURM_CONF says.
  sed '/^PlugStackConfig=/d' "$CLUSTER_DIR/etc/slurm/slurm.conf" > "$ALICE/slurm.conf"
  echo PlugStackConfig=/home/alice/plugstack.conf >> "$ALICE/slurm.conf"
  echo 'required /srv/forge.so' > "$ALICE/plugstack.conf"
}
teardown_file() { cluster_down; }
setup() {
  test_begins
  script 'echo SCRIPT; srun true'
}
teardown() { heal; test_ends; }

# forged: WORK/forge, NAME=VALUE ended by NUL, becomes the job's; it ends one way or the other.
forged() {
  JOB=$(as_alice env SLURM_CONF=/home/alice/slurm.conf "FORGE=$T/forge" sbatch --parsable -N2 job.sh) || return 1
  OUT=$WORK/slurm-$JOB.out
  wait_for $((STAGE_TIMEOUT + 30)) job_ended "$JOB" || { lab exec scontrol show job "$JOB"; return 1; }
  wait_for 20 nodes_idle || { lab exec sinfo -N -l; return 1; }
}
specs() { printf 'STAGECAST_SPECS=%s\0' "$1" > "$WORK/forge"; }
daemons_alive() {
  local node
  for node in n0 n1; do lab on "$node" bash -c 'kill -0 "$(cat /run/lab/stagecastd.pid)"' || return 1; done
}
refused() { [ "$(job_field "$JOB" JobState)" = FAILED ] && grep -q 'stagecast: ' "$OUT" || { lab exec scontrol show job "$JOB"; cat "$OUT"; return 1; }; }

@test "forging works at all" {
  input data 1000
  specs "1;-,$T/data,"
  forged
  [ "$(job_field "$JOB" JobState)" = COMPLETED ]
}

@test "garbage" {
  local round
  for round in 1 2 3; do
    specs "$(head -c 2000 /dev/urandom | tr -d '\0')"
    forged
    refused
  done
  specs ''
  forged
  specs '1;'
  forged
  refused
  specs '99999999999;-,/a,b'
  forged
  refused
  specs $'1;-,/a\n/b,c'
  forged
  refused
  daemons_alive
}

@test "100 KB of it, and ten thousand specs" {
  specs "$(head -c 100000 /dev/zero | tr '\0' A)"
  forged
  refused
  specs "1$(for i in $(seq 9000); do printf ';-,/x,%d' "$i"; done)"
  forged
  refused
  daemons_alive
}

@test "a source that only root may read" {
  specs '1;-,/etc/shadow,'
  forged
  refused
  grep -q 'Permission denied' "$OUT"
}

@test "destinations of root's, and ways out of the job's directory" {
  input data 1000
  local destination
  for destination in /etc/forged /var/spool/stagecast/forged ../forged a/../../forged ../../../etc/forged .stagecast/files \
    step.0/x /tmp/../etc/forged //etc/forged %2e%2e/forged; do
    specs "1;w,$T/data,$destination"
    forged && refused || { echo "destination $destination"; false; }
  done
  lab on n0 bash -c '! find /etc/forged /var/spool/forged /var/spool/stagecast/forged 2>/dev/null | grep .'
  daemons_alive
}

@test "the option without its list, and the list without the option" {
  printf '_SLURM_SPANK_OPTION_stagecast_stage_file=/x\0' > "$WORK/forge"
  forged
  printf '_SLURM_SPANK_OPTION_stagecast_stage_file=\001\002\0STAGECAST_SPECS=\003\0' > "$WORK/forge"
  forged
  daemons_alive
}

@test "the plugin's own variables in the user's environment" {
  local value
  for value in garbage '1;-,/etc/shadow,' none '' given; do
    as_alice env "SLURM_STAGECAST_STEP=$value" "SLURM_SPANK_STAGECAST_SPECS=$value" STAGECAST_DIR=/etc timeout 40 srun -N2 true || true
    submit -N2 --export="ALL,SLURM_STAGECAST_STEP=$value,SLURM_SPANK_STAGECAST_SPECS=$value" job.sh
    wait_for $((STAGE_TIMEOUT + 30)) job_ended "$JOB"
    wait_for 20 nodes_idle
  done
  daemons_alive
}

@test "200 KB of specs by the option: refused at submission, by every launcher" {
  input data 10
  local -a many=()
  local i
  for i in $(seq 200); do many+=("--stage-file=data:$(head -c 1000 /dev/zero | tr '\0' d)/$i"); done
  run as_alice sbatch -N2 "${many[@]}" job.sh
  [ "$status" != 0 ]
  [[ $output == *stagecast:* ]]
  run as_alice srun -N2 "${many[@]}" true
  [ "$status" != 0 ]
  [[ $output == *stagecast:* ]]
  run as_alice salloc -N2 "${many[@]}" true
  [ "$status" != 0 ]
  [[ $output == *stagecast:* ]]
  { echo '#!/bin/bash'; for i in "${many[@]}"; do echo "#SBATCH $i"; done; echo true; } > "$WORK/long.sh"
  run as_alice sbatch -N2 long.sh
  [ "$status" != 0 ]
  [[ $output == *stagecast:* ]]
}
