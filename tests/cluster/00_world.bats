# Tests that the emulated cluster works without stagecast. Without stagecast: what fails here is not stagecast's.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 3 --bare --loss 0.5% --rate 400mbit; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

@test "srun reaches every node, as the user with all groups" {
  as_alice srun -N3 bash -c 'echo "$(hostname) $(id -un) $(id -Gn)"' > "$WORK/out"
  [ "$(sort "$WORK/out")" = "$(printf 'n%d alice alice project\n' 0 1 2)" ]
}

@test "sbcast copies a file to every node's own /tmp" {
  input big 3000000
  script 'sbcast big /tmp/sbcast.big && srun sha256sum /tmp/sbcast.big && srun rm /tmp/sbcast.big'
  submit -N3 job.sh
  wait_job "$JOB" COMPLETED
  [ "$(grep -c "$(sha256sum < "$WORK/big" | cut -c 1-64)" "$OUT")" = 3 ]
}

@test "Open MPI runs under srun --mpi=pmix" {
  mpicc -o "$WORK/hello" -x c - <<'C'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
    int rank, sum;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
C
  as_alice srun --mpi=pmix -N3 ./hello > "$WORK/out"
  [ "$(grep -cx 'sum 3' "$WORK/out")" = 3 ]
}

@test "multicast from one node is heard by the others" {
  install -m 755 "$CLUSTER_TESTS/attack/listen.py" "$CLUSTER_DIR/srv/"
  local node
  for node in n1 n2; do
    lab on "$node" timeout 20 /srv/listen.py 239.77.9.9 7799 10.77.1 3>&- < /dev/null > "$WORK/$node" &
  done
  wait_for 10 bash -c "grep -q joined '$WORK/n1' && grep -q joined '$WORK/n2'"
  lab on n0 python3 -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(200): s.sendto(b"x" * 1000, ("239.77.9.9", 7799))'
  wait_for 10 bash -c "grep -q datagram '$WORK/n1' && grep -q datagram '$WORK/n2'"
  wait_for 20 no_listener
}

no_listener() { ! lab on n1 pgrep -f /srv/listen.py && ! lab on n2 pgrep -f /srv/listen.py; }

@test "files that a test leaves behind are detected" {
  lab on n1 touch /tmp/forgotten
  run ! residue_none
  [ "$(residue_show | grep -c 'n1: > local /tmp/forgotten')" = 1 ]
  lab on n1 rm /tmp/forgotten
}

@test "a cluster ends with its owner, though the owner's whole process group is killed" {
  setsid bash -c '"$0" --name orphan up 1 --hosts --owner "$$" && sleep 600' "$LAB" 3>&- < /dev/null > "$WORK/up" 2>&1 &
  local owner=$!
  wait_for 30 "$LAB" --name orphan on n0 true
  wait_for 10 pgrep --session "$owner" sleep
  kill -KILL -- "-$owner"
  wait_for 30 orphan_is_gone
}

orphan_is_gone() { ! "$LAB" --name orphan path; }

@test "no statement of any test can fail unseen" {
  # Under set -e only the last part of "a && b" counts, so a test that says it may check nothing.
  run grep -nE "^ +(\[+ [^|]*|[a-z_]+( [^'\"|]*)?) && [^|]*$" "$CLUSTER_TESTS"/*.bats "$CLUSTER_TESTS"/../net/*.bats
  [ "$status" = 1 ] || { echo "$output"; false; }
}
