# Tests that a node accepts pushes from permitted nodes only, and writes only below root's directories.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs
load lib/fault
load lib/push

setup_file() {
  cluster_up 3 --cpus 2 --stagecast PushRoots=/var/tmp/images,/var/tmp/linked --stagecast PushFrom=n0 \
    --stagecast ConnectTimeout=2
}
teardown_file() { cluster_down; }
setup() { push_begins; }
teardown() {
  local node
  for node in n1 n2; do mended "$node"; done
  lab on n1 rm -rf /var/tmp/linked /var/spool/elsewhere
  push_ends
}

# configured NODE SED: its stagecast.conf until heal, read anew.
configured() {
  lab on "$1" bash -c "cp /etc/stagecast/stagecast.conf /run/lab/conf; sed -i '$2' /etc/stagecast/stagecast.conf"
  restart_daemon "$1"
}
mended() {
  lab on "$1" test ! -e /run/lab/conf || { lab on "$1" mv /run/lab/conf /etc/stagecast/stagecast.conf && restart_daemon "$1"; }
}
# refused WORDS: the push was, for that.
refused() { grep -q -- "$1" "$WORK/said" || { cat "$WORK/said"; return 1; }; }

@test "a user's directory with the name of PushRoots gets nothing, and doctor names its owner" {
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

@test "a file with set-id bits does not arrive, alone or in a tree, unless the node has PushSetId=yes" {
  cp /bin/bash "$WORK/s"
  mkdir -p "$WORK/tree/bin"
  cp /bin/true "$WORK/tree/bin/t"
  lab on n0 -d "$T" bash -c 'chown -R 0:0 s tree; chmod 4755 s; chmod 2755 tree/bin/t'
  local mode
  for mode in '' --dry-run; do
    run -2 push n0 -w 'n[1-2]' $mode s /var/tmp/images/
    refused 'nodes n\[1,2\]: /var/tmp/images/s: has the set-user-id or set-group-id bit.*PushSetId=yes'
    run -2 push n0 -w 'n[1-2]' $mode tree /var/tmp/images/tree
    refused 'nodes n\[1,2\]: a file in /var/tmp/images/tree: has the set-user-id or set-group-id bit'
    empty_on n1 n2
  done
  configured n1 '/^Interface=/aPushSetId=yes'
  local rc=0
  push n0 -w 'n[1-2]' s /var/tmp/images/ || rc=$?
  [ "$rc" = 1 ]
  [ "$(lab on n1 stat -c '%u %a' /var/tmp/images/s)" = '0 4755' ]
  empty_on n2
  push n0 -w n1 tree /var/tmp/images/tree
  [ "$(lab on n1 stat -c '%u %a' /var/tmp/images/tree/bin/t)" = '0 2755' ]
  mended n1
}

@test "pushed files belong to root: owners, ACLs and a directory's set-group-id bit are not kept" {
  mkdir -p "$WORK/tree/d"
  echo data > "$WORK/tree/d/file"
  ln -s d/file "$WORK/tree/link"
  lab on n0 -d "$T" bash -c 'chown -Rh 2001:2001 tree; chmod 640 tree/d/file; chmod 2775 tree/d
    setfacl -m u:2002:rw tree/d/file 2>/dev/null; true'
  push n0 -w n1 tree /var/tmp/images/tree
  push n0 -w n1 tree/d/file /var/tmp/images/file
  push n0 -w n1 --verify tree /var/tmp/images/tree
  [ "$(lab on n1 find /var/tmp/images -mindepth 1 ! -user 0 -o -mindepth 1 ! -group 0)" = '' ]
  [ "$(lab on n1 stat -c %a /var/tmp/images/tree/d /var/tmp/images/tree/d/file /var/tmp/images/file | tr '\n' ' ')" = '775 640 640 ' ]
  configured n1 '/^Interface=/aPushSetId=yes'
  push n0 -w n1 tree /var/tmp/images/tree
  [ "$(lab on n1 stat -c '%u %a' /var/tmp/images/tree/d)" = '2001 2775' ]
  mended n1
}

@test "a node that PushFrom does not name pushes nothing, and gets the remedy" {
  input image 1000
  local mode
  for mode in '' --dry-run --verify; do
    run -2 push n2 -w n1 $mode image /var/tmp/images/
    refused 'node n1: node n2 at 10.77.1.3 is none of this node.s PushFrom (n0), so it may not push here'
  done
  empty_on n1
  push n2 -w n2 image /var/tmp/images/   # To itself it may.
  has image n2
  configured n1 's,^PushFrom=.*,PushFrom=,'
  run -2 push n0 -w n1 image /var/tmp/images/
  refused 'PushFrom in this node.s stagecast.conf is empty.*such as n0'
  run lab on n1 /srv/stagecast/bin/stagecast doctor
  [[ $output == *'warn   PushFrom: is empty'* ]]
  mended n1
  configured n1 's,^PushFrom=.*,PushFrom=10.77.1.2/31,'
  push n2 -w n1 image /var/tmp/images/
  run -2 push n0 -w n1 image /var/tmp/images/
  mended n1
  has image n1
}

@test "a node that takes another one's name is known by its address" {
  input image 1000
  configured n2 '/^Interface=/aNodeName=n0'
  run -2 push n2 -w n1 image /var/tmp/images/
  mended n2
  refused 'node n1: node n0 connects from 10.77.1.3, but its address is 10.77.1.1'
  empty_on n1
}
