# Tests that what is known to fail at submission is refused there, with an error, and nothing is submitted.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 1; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

# refused PATTERN ARGS...: by sbatch, srun and salloc; no job comes of it.
refused() {
  local pattern=$1 launcher before rc
  shift
  before=$(last_job)
  script 'echo SCRIPT'
  for launcher in 'sbatch --parsable' srun salloc; do
    rc=0
    # shellcheck disable=SC2086
    case $launcher in
      sbatch*) as_alice $launcher -N1 "$@" job.sh > "$WORK/said" 2>&1 || rc=$? ;;
      *) as_alice $launcher -N1 "$@" echo SCRIPT > "$WORK/said" 2>&1 || rc=$? ;;
    esac
    [ "$rc" != 0 ] || { echo "$launcher: rc 0"; cat "$WORK/said"; return 1; }
    grep -Eq "stagecast: .*$pattern" "$WORK/said" || { echo "$launcher does not say '$pattern':"; cat "$WORK/said"; return 1; }
    no_rank_ran "$WORK/said"
  done
  [ "$(last_job)" = "$before" ] || { echo "a job was submitted"; return 1; }
}

last_job() { lab exec scontrol show jobs -o | sed -n 's/^JobId=\([0-9]*\).*/\1/p' | sort -n | tail -n 1; }

@test "a file that is not there" { refused 'missing.*No such file or directory' --stage-file=missing; }

@test "wildcards: the files that match are staged; where none does, nothing is submitted" {
  mkdir "$WORK/in"
  input in/b.h5 1000
  input in/a.h5 2000
  input in/c.txt 10
  # shellcheck disable=SC2016
  as_alice srun -N1 '--stage-file=in/*.h5:data/' bash -c 'cd "$STAGECAST_DIR" && find data -type f | sort' > "$WORK/said"
  [ "$(cat "$WORK/said")" = "$(printf "%s\n" data/a.h5 data/b.h5)" ] || { cat "$WORK/said"; false; }
  refused 'in/\*[.]hdf: No such file or directory; no file matches' '--stage-file=in/*.hdf'
  refused '2 files match' '--stage-file=in/*.h5:data'
}

@test "a destination that DestRoots forbids" {
  input data 1000
  refused '/dev/shm/data.*not allowed there; this site allows them below /tmp, /var/tmp' --stage-file=data:/dev/shm/data
  refused '/tmpfile.*not allowed there' --stage-file=data:/tmpfile
}

@test "but late lets it be missing" {
  as_alice sbatch --parsable -H -N1 --stage-file=missing::late --wrap true > "$WORK/job"
  lab exec scancel "$(cat "$WORK/job")"
}

@test "a file that the user cannot read" {
  input secret 1000 600
  chown 0:0 "$WORK/secret"
  refused 'secret.*Permission denied' --stage-file=secret
}

@test "a directory that the user cannot read" {
  mkdir -m 700 "$WORK/dir"
  refused 'dir.*Permission denied' --stage-file=dir
}

@test "a fifo, a device" {
  mkfifo "$WORK/fifo"
  refused 'fifo' --stage-file=fifo
  refused '/dev/zero' --stage-file=/dev/zero
}

@test "bad syntax: nothing, an unknown flag, a destination that climbs out" {
  input data 10
  refused '' --stage-file=
  refused 'sparkling' --stage-file=data::sparkling
  refused '\.\.' --stage-file=data:../../etc/passwd
  refused '' --stage-file=:x
}

@test "two files at one destination" {
  input one 10
  input two 10
  refused 'one destination' --stage-file=one:x --stage-file=two:x
}

@test "specs of more than 32 KiB" {
  local -a many=()
  local i
  input data 10
  for i in $(seq 200); do many+=("--stage-file=data:$(printf 'd%.0s' $(seq 190))$i"); done
  refused '32768' "${many[@]}"
}

@test "one bad file among good ones" {
  input good 10
  refused 'missing' --stage-file=good --stage-file=missing
}

@test "a plugstack.conf that loads the plugin twice does not take the files from a job" {
  input data 1000
  local plugs=$CLUSTER_DIR/etc/slurm/plugstack.conf
  cp "$plugs" "$WORK/plugs"
  cat "$WORK/plugs" >> "$plugs"
  run as_alice srun -N1 --stage-file=data sh -c 'cmp "$STAGECAST_DIR/data" data && echo SAME'
  script 'srun sh -c "cmp \$STAGECAST_DIR/data data"'
  submit -N1 --stage-file=data job.sh
  lab on n0 /srv/stagecast/bin/stagecast doctor > "$WORK/said" || true
  wait_job "$JOB" COMPLETED
  cat "$WORK/plugs" > "$plugs"
  [ "$(grep -c SAME <<< "$output")" = 1 ] || { echo "$output"; false; }
  grep -q '^WRONG  plugstack: .*once more' "$WORK/said" || { cat "$WORK/said"; false; }
}
