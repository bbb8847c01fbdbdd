# Does a push write only what the receiving node's root wants there, where no user can reach in?

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push

setup_file() {
  cluster_up 3 --cpus 2 --stagecast PushRoots=/var/tmp/images,/var/tmp/linked \
    --stagecast ConnectTimeout=2
}
teardown_file() { cluster_down; }
setup() { push_begins; }
teardown() { lab on n1 rm -rf /var/tmp/linked /var/spool/elsewhere; push_ends; }

@test "a user's directory with the name of PushRoots gets nothing, and doctor says whose it is" {
  input image 1000
  lab on n1 rmdir /var/tmp/images
  lab on n1 -u alice mkdir /var/tmp/images
  local mode
  for mode in '' --dry-run --verify; do
    run -2 push n0 -w n1 $mode image /var/tmp/images/
    grep -q 'node n1: .*PushRoots: /var/tmp/images does not belong to root; chown root it' "$WORK/said" || { cat "$WORK/said"; false; }
  done
  empty_on n1
  run ! lab on n1 /srv/stagecast/bin/stagecast doctor
  [[ $output == *'WRONG  PushRoots: PushRoots: /var/tmp/images does not belong to root'* ]]
  lab on n1 chown root /var/tmp/images
  lab on n1 chmod 1777 /var/tmp/images
  run -2 push n0 -w n1 image /var/tmp/images/
  grep -q '/var/tmp/images can be written by others than root; chmod go-w it' "$WORK/said"
  empty_on n1
}

@test "a user's symbolic link with the name of PushRoots leads no push astray" {
  input image 1000
  lab on n1 mkdir -m 755 /var/spool/elsewhere
  lab on n1 -u alice ln -s /var/spool/elsewhere /var/tmp/linked
  local mode
  for mode in '' --dry-run --verify; do
    run -2 push n0 -w n1 $mode image /var/tmp/linked/
    grep -q 'node n1: .*PushRoots: /var/tmp/linked is a symbolic link' "$WORK/said" || { cat "$WORK/said"; false; }
  done
  [ -z "$(lab on n1 ls -A /var/spool/elsewhere)" ]
}

@test "the daemon warns of such a directory when it starts and when it reads its configuration" {
  lab on n1 rmdir /var/tmp/images
  lab on n1 -u alice mkdir /var/tmp/images
  lab on n1 bash -c 'kill -HUP "$(cat /run/lab/stagecastd.pid)"'
  wait_for 5 warned
  log_mark
  restart_daemon n1
  wait_for 5 warned
}
warned() { log_since stagecastd-n1 | grep -q 'pushes to this directory will be refused.*/var/tmp/images does not belong to root'; }
