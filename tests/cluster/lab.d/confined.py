#!/usr/bin/python3
"""Executes a program as systemd would confine it by a unit's file: confined.py UNIT PROGRAM ARGUMENT...

An emulated node has no systemd, and a daemon that tests run with all of root's rights is not the one
that sites run. What is read from the unit: CapabilityBoundingSet, NoNewPrivileges, SystemCallFilter with
its error number and architectures, RestrictAddressFamilies, RestrictNamespaces, RestrictRealtime,
LockPersonality, MemoryDenyWriteExecute, LimitNOFILE, LimitMEMLOCK, LimitCORE. As systemd.exec(5) has it, each directive is a filter of its own. A
setting in the unit's [Service] that is neither known nor harmless here ends this with a message.
"""

import ctypes
import errno
import os
import resource
import subprocess
import sys

import seccomp

PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS = 24, 38
# capabilities(7), by number; a kernel may know more of them, which are dropped as well.
CAPABILITIES = """CHOWN DAC_OVERRIDE DAC_READ_SEARCH FOWNER FSETID KILL SETGID SETUID SETPCAP LINUX_IMMUTABLE
NET_BIND_SERVICE NET_BROADCAST NET_ADMIN NET_RAW IPC_LOCK IPC_OWNER SYS_MODULE SYS_RAWIO SYS_CHROOT SYS_PTRACE SYS_PACCT
SYS_ADMIN SYS_BOOT SYS_NICE SYS_RESOURCE SYS_TIME SYS_TTY_CONFIG MKNOD LEASE AUDIT_WRITE AUDIT_CONTROL SETFCAP
MAC_OVERRIDE MAC_ADMIN SYSLOG WAKE_ALARM BLOCK_SUSPEND AUDIT_READ PERFMON BPF CHECKPOINT_RESTORE""".split()
FAMILIES = {"AF_UNIX": 1, "AF_INET": 2, "AF_INET6": 10, "AF_NETLINK": 16}
# namespaces(7): the flags of clone(2), unshare(2) and setns(2).
NAMESPACES = {"cgroup": 0x2000000, "ipc": 0x8000000, "net": 0x40000000, "mnt": 0x20000, "pid": 0x20000000,
              "user": 0x10000000, "uts": 0x4000000}
PROT_WRITE, PROT_EXEC, SHM_EXEC = 2, 4, 0o100000
KNOWN = {"CapabilityBoundingSet", "NoNewPrivileges", "SystemCallFilter", "SystemCallErrorNumber",
         "SystemCallArchitectures", "RestrictAddressFamilies", "RestrictNamespaces", "RestrictRealtime",
         "LockPersonality", "MemoryDenyWriteExecute", "LimitNOFILE", "LimitMEMLOCK",
         "LimitCORE"}
# Of the service's life, not of what it may.
HARMLESS = {"KillMode", "Type", "ExecStartPre", "ExecStart", "ExecReload", "RuntimeDirectory", "RuntimeDirectoryMode",
            "RuntimeDirectoryPreserve", "Restart", "RestartSec", "RestartPreventExitStatus", "TimeoutStopSec", "TimeoutStartSec", "Delegate", "OOMPolicy",
            "OOMScoreAdjust", "StandardOutput", "StandardError", "SyslogIdentifier", "SyslogLevelPrefix", "Slice",
            "Environment", "EnvironmentFile", "ExecStartPost", "ExecStopPost", "WatchdogSec", "NotifyAccess"}

libc = ctypes.CDLL(None, use_errno=True)


def fail(why):
    sys.exit(f"confined.py: {why}")


def service_of(unit):
    """Name -> words of [Service]; what is said more than once adds up."""
    settings, section = {}, ""
    with open(unit) as file:
        for line in file.read().replace("\\\n", " ").splitlines():
            line = line.strip()
            if line.startswith("["):
                section = line
            elif line and line[0] not in "#;" and section == "[Service]":
                name, _, value = line.partition("=")
                settings.setdefault(name, []).extend(value.split())
    unknown = set(settings) - KNOWN - HARMLESS
    if unknown:
        fail(f"{unit}: this launcher does not know {', '.join(sorted(unknown))}; teach it, or the tests prove less")
    return settings


def is_on(settings, name):
    return settings.get(name) == ["yes"]


def must(status, doing):
    if status != 0:
        fail(f"{doing}: {os.strerror(ctypes.get_errno())}")


# ---- capabilities ------------------------------------------------------------------------------
def bound_capabilities(words):
    kept = set()
    for word in words:
        name = word.removeprefix("CAP_")
        if name not in CAPABILITIES:
            fail(f"no capability {word}")
        kept.add(CAPABILITIES.index(name))
    with open("/proc/sys/kernel/cap_last_cap") as file:
        last = int(file.read())
    for number in range(last + 1):
        if number not in kept:
            must(libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0), f"dropping capability {number}")


# ---- system calls ------------------------------------------------------------------------------
def system_calls():
    """systemd's own sets: "@name" -> words."""
    said = subprocess.run(["systemd-analyze", "--no-pager", "syscall-filter"], capture_output=True, text=True, check=True)
    sets, current = {}, None
    for line in said.stdout.splitlines():
        if line.startswith("@"):
            current = sets.setdefault(line.strip(), [])
        elif not line.startswith(" "):
            current = None  # What the kernel has and no set.
        elif current is not None and not line.strip().startswith("#"):
            current.append(line.strip())
    return sets


def expand(words, sets):
    names = set()
    for word in words:
        if word.startswith("@"):
            names |= expand(sets[word], sets)
        else:
            names.add(word)
    return names


def filter_with(default):
    """Of the machine's own architecture alone; a call by another's ends the process."""
    made = seccomp.SyscallFilter(default)
    made.set_attr(seccomp.Attr.CTL_NNP, 0)
    made.set_attr(seccomp.Attr.ACT_BADARCH, seccomp.KILL_PROCESS)
    return made


def add(made, action, name, *arguments):
    """Whether the kernel's headers that libseccomp was made with have it here."""
    try:
        if seccomp.resolve_syscall(seccomp.Arch(), name) < 0:
            return False
    except ValueError:
        return False
    made.add_rule(action, name, *arguments)
    return True


def allow_calls(words, error):
    """As systemd does: what it does not even know of is ENOSYS, so that programs fall back."""
    sets = system_calls()
    denies = [word for word in words if word.startswith("~")]
    if denies:
        fail(f"a list of system calls to deny: {denies[0]}")
    allowed = expand(words, sets) | expand(["@default"], sets)
    made = filter_with(seccomp.ERRNO(errno.ENOSYS))
    count = sum(add(made, seccomp.ALLOW, name) for name in allowed)
    if count < 100:
        fail(f"only {count} system calls are allowed; what does systemd-analyze syscall-filter say?")
    for name in expand(["@known"], sets) - allowed:
        add(made, seccomp.ERRNO(error), name)
    made.load()


def restrict_families(words):
    allowed = {FAMILIES[word] for word in words}
    made = filter_with(seccomp.ALLOW)
    refuse = seccomp.ERRNO(errno.EAFNOSUPPORT)
    last = max(allowed)
    add(made, refuse, "socket", seccomp.Arg(0, seccomp.GT, last))
    for family in range(last):
        if family not in allowed:
            add(made, refuse, "socket", seccomp.Arg(0, seccomp.EQ, family))
    made.load()


def restrict_namespaces(words):
    """As systemd does; it can't look into the flags of clone3(2), which are in memory."""
    unknown = set(words) - set(NAMESPACES)
    if unknown:
        fail(f"no kind of namespace: {' '.join(sorted(unknown))}")
    made = filter_with(seccomp.ALLOW)
    refuse = seccomp.ERRNO(errno.EPERM)
    add(made, seccomp.ERRNO(errno.ENOSYS), "clone3")
    add(made, refuse, "setns", seccomp.Arg(1, seccomp.EQ, 0))
    for flag in (flag for name, flag in NAMESPACES.items() if name not in words):
        add(made, refuse, "unshare", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
        add(made, refuse, "clone", seccomp.Arg(0, seccomp.MASKED_EQ, flag, flag))
        add(made, refuse, "setns", seccomp.Arg(1, seccomp.MASKED_EQ, flag, flag))
    made.load()


def restrict_realtime():
    made = filter_with(seccomp.ALLOW)
    for policy in (1, 2, 4):  # FIFO, RR, ISO
        add(made, seccomp.ERRNO(errno.EPERM), "sched_setscheduler", seccomp.Arg(1, seccomp.EQ, policy))
    add(made, seccomp.ERRNO(errno.EPERM), "sched_setscheduler", seccomp.Arg(1, seccomp.GT, 5))
    made.load()


def lock_personality():
    made = filter_with(seccomp.ALLOW)
    add(made, seccomp.ERRNO(errno.EPERM), "personality", seccomp.Arg(0, seccomp.NE, libc.personality(0xffffffff)))
    made.load()


def deny_write_execute():
    made = filter_with(seccomp.ALLOW)
    refuse = seccomp.ERRNO(errno.EPERM)
    both = PROT_WRITE | PROT_EXEC
    add(made, refuse, "mmap", seccomp.Arg(2, seccomp.MASKED_EQ, both, both))
    for name in ("mprotect", "pkey_mprotect"):
        add(made, refuse, name, seccomp.Arg(2, seccomp.MASKED_EQ, PROT_EXEC, PROT_EXEC))
    add(made, refuse, "shmat", seccomp.Arg(2, seccomp.MASKED_EQ, SHM_EXEC, SHM_EXEC))
    made.load()


def mebibytes(text):
    if not text.endswith("M"):
        raise SystemExit(f"confined.py: {text} is no number of MiB")
    return int(text[:-1]) << 20


def confine(settings):
    if "LimitNOFILE" in settings:
        most = int(settings["LimitNOFILE"][0])
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        except (OSError, ValueError):
            pass  # Some containers allow no more than they have.
    if "LimitMEMLOCK" in settings:
        most = mebibytes(settings["LimitMEMLOCK"][0])
        try:
            resource.setrlimit(resource.RLIMIT_MEMLOCK, (most, most))
        except (OSError, ValueError):
            pass
    if "LimitCORE" in settings:
        resource.setrlimit(resource.RLIMIT_CORE, (int(settings["LimitCORE"][0]),) * 2)
    if "CapabilityBoundingSet" in settings:
        bound_capabilities(settings["CapabilityBoundingSet"])
    if is_on(settings, "NoNewPrivileges"):
        must(libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no new privileges")
    if settings.get("SystemCallArchitectures", ["native"]) != ["native"]:
        fail("SystemCallArchitectures is not native")
    if "RestrictAddressFamilies" in settings:
        restrict_families(settings["RestrictAddressFamilies"])
    if "RestrictNamespaces" in settings:
        restrict_namespaces(settings["RestrictNamespaces"])
    if is_on(settings, "RestrictRealtime"):
        restrict_realtime()
    if is_on(settings, "LockPersonality"):
        lock_personality()
    if is_on(settings, "MemoryDenyWriteExecute"):
        deny_write_execute()
    if "SystemCallFilter" in settings:  # The last, for it may forbid what the others are made with.
        error = settings.get("SystemCallErrorNumber", ["EPERM"])[0]
        allow_calls(settings["SystemCallFilter"], getattr(errno, error))


if __name__ == "__main__":
    confine(service_of(sys.argv[1]))
    os.execv(sys.argv[2], sys.argv[2:])
