# Helpers for tests of the node caches.
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2154  # SAID is for tests; WORK, NODES, JOB come from the other libraries

CACHE=/var/spool/cache

# A file that was changed a moment ago is not known again.
is_old() { [ "$(($(date +%s) - $(stat -c %Z "$WORK/$1")))" -ge 4 ]; }
old_input() {
  input "$@"
  wait_for 10 is_old "$1"
}

# Each test has files of a length of its own.
entries() { lab on "$1" find $CACHE/2001 -type f -size "$2c"; }
all_keep() {
  local node
  for node in "${NODES[@]}"; do
    [ "$(entries "$node" "$1" | wc -l)" = "${2:-1}" ] || return 1
  done
}

# What an earlier try of the same test left would be counted, too.
later_try() {
  local node
  [ "${BATS_TEST_TRY_NUMBER:-1}" -gt 1 ] || return 0
  for node in "${NODES[@]}"; do lab on "$node" /srv/stagecast/bin/stagecast cache rm --all; done
}

# run_staged ARGS...: a job on all nodes whose ranks (RANK) tell what they found; SAID is its explanation.
run_staged() {
  script "srun ${RANK:-/srv/rank.sh}"
  submit -N "$CLUSTER_SIZE" "$@" job.sh
  wait_job "$JOB" COMPLETED
  explained "$JOB" n0
}
explained() { SAID=$(lab on "$2" /srv/stagecast/bin/stagecast explain "$1" --json | jq -c '.ended[0]'); }
all_left() { [ "$(daemon_logs | grep -c "worker left job=$1 ")" = "$CLUSTER_SIZE" ]; }
sent_by_all() {
  daemon_logs | sed -n "s/.*worker left job=$1 .*packets_sent=\([0-9]*\).*/\1/p" | awk '{ n += $1 } END { print n }'
}
said() { [ "$(jq "$1" <<< "$SAID")" = "$2" ] || { echo "not $1 = $2 in $SAID"; return 1; }; }

# ---- trees ------------------------------------------------------------------------------------------------
# look_script: on the hosts /srv/look.sh DIRECTORY says what is in it.
look_script() {
  cat > "$CLUSTER_DIR/srv/look.sh" <<'END'
#!/bin/bash
# What is in a tree, its top aside, as one line.
cd "$1" && { find . -mindepth 1 -printf '%P %y %m %l' \( -type f -printf ' %s %T@\n' -o -printf '\n' \) | LC_ALL=C sort
find . -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum; } | sha256sum | sed "s/^\([0-9a-f]*\).*/TREE $(hostname) \1/"
END
  chmod 755 "$CLUSTER_DIR/srv/look.sh"
}

# tree BYTES: an environment of small files, with a long one of BYTES.
tree() {
  local top=$WORK/env i
  mkdir -p "$top/bin" "$top/lib/site"
  for ((i = 0; i < 300; i++)); do head -c $((i * 37)) /dev/urandom > "$top/lib/site/$i.py"; done
  head -c "$1" /dev/urandom > "$top/lib/libbig.so.1"
  ln -sf libbig.so.1 "$top/lib/libbig.so"
  printf '#!/bin/sh\necho it runs\n' > "$top/bin/tool"
  chmod 755 "$top/bin/tool"
  chown -R -h 2001:2001 "$top"
  find "$top" -exec touch -h -d '2024-02-29 12:34:56' {} +
}

# Every rank of a job that ran look.sh found what is in $WORK/env.
unpacked_everywhere() {
  local node want
  want=$(bash "$CLUSTER_DIR/srv/look.sh" "$WORK/env")
  for node in "${NODES[@]}"; do
    grep -qxF "TREE $node ${want##* }" "$OUT" || { echo "not on $node: $want"; cat "$OUT"; return 1; }
  done
}
