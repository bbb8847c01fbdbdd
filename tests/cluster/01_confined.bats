# Tests that the daemon under test is as confined as a site's.

bats_require_minimum_version 1.5.0
load lib/cluster
load lib/jobs

setup_file() { cluster_up 1; }
teardown_file() { cluster_down; }
setup() { test_begins; }
teardown() { test_ends; }

confined() { lab on n0 /srv/confined.py /srv/stagecastd.service "$@"; }

@test "stagecastd has the capabilities that its unit names, no way to others, and a filter of system calls" {
  local unit=$CLUSTER_TESTS/../../etc/stagecastd.service names
  names=$(sed -n 's/^CapabilityBoundingSet=//p' "$unit" | tr 'A-Z\n' 'a-z ' | sed 's/cap_/+/g; s/ *$//; s/ \+/,/g')
  [[ $names == *+setuid* ]] || false
  setpriv --bounding-set "-all,$names" grep CapBnd /proc/self/status > "$WORK/wanted"
  lab on n0 bash -c 'grep CapBnd "/proc/$(cat /run/lab/stagecastd.pid)/status"' > "$WORK/has"
  diff "$WORK/wanted" "$WORK/has"
  lab on n0 bash -c 'cat "/proc/$(cat /run/lab/stagecastd.pid)/status"' > "$WORK/status"
  grep -qx 'NoNewPrivs:.1' "$WORK/status"
  grep -qx 'Seccomp:.2' "$WORK/status"
}

@test "the unit's restrictions apply, and no others" {
  cat > "$WORK/try.py" <<'P'
import ctypes, errno, mmap, os, resource, socket
libc = ctypes.CDLL(None, use_errno=True)
def refused(what):
    try:
        what()
    except OSError as error:
        return errno.errorcode[error.errno]
    return "no"
def trace():
    if libc.ptrace(0, 0, None, None) != 0:
        raise OSError(ctypes.get_errno(), "")
print("ptrace", refused(trace))
def unshare(flags):
    child = os.fork()
    if child == 0:
        os._exit(0 if libc.unshare(flags) == 0 else ctypes.get_errno())
    error = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if error != 0:
        raise OSError(error, "")
print("user and net", refused(lambda: unshare(0x10000000 | 0x40000000)))
print("user and mnt", refused(lambda: unshare(0x10000000 | 0x20000)))
print("core", resource.getrlimit(resource.RLIMIT_CORE))
print("packet", refused(lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW)))
print("udp", refused(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM)))
print("rwx", refused(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)))
print("rw", refused(lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE)))
P
  confined /usr/bin/python3 "$T/try.py" > "$WORK/said"
  printf '%s\n' 'ptrace EPERM' 'user and net no' 'user and mnt EPERM' 'core (0, 0)' 'packet EAFNOSUPPORT' 'udp no' 'rwx EPERM' 'rw no' | diff - "$WORK/said"
}

@test "a setting of the unit that the lab can't apply is refused, not passed over" {
  sed 's/^\[Service\]/&\nProtectHome=yes/' "$CLUSTER_TESTS/../../etc/stagecastd.service" > "$WORK/unit"
  run lab on n0 /srv/confined.py "$T/unit" /bin/true
  [ "$status" != 0 ]
  [[ $output == *'does not know ProtectHome'* ]] || { echo "$output"; false; }
}
