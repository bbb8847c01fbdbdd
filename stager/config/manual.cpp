// Generates stagecast.conf(5) from the table of keys.
#include "stager/config/key.h"

namespace stage {
namespace {

/// Escapes text for troff, so that none of it is a request or an escape.
std::string plain(std::string_view text) {
    std::string out;
    for (const char c : text) {
        if (c == '\\') {
            out += "\\e";
        } else if (c == '-') {
            out += "\\-";
        } else {
            out += c;
        }
    }
    const bool is_request = !out.empty() && (out.front() == '.' || out.front() == '\'');
    return is_request ? "\\&" + out : out;
}

constexpr std::string_view kHead = R"(.TH STAGECAST.CONF 5 "2026-11-26" stagecast "File formats"
.SH NAME
stagecast.conf \- configuration of stagecast on a cluster
.SH SYNOPSIS
/etc/stagecast/stagecast.conf
.SH DESCRIPTION
One
.IR Key = Value
a line, as in
.BR slurm.conf (5).
Keys are case-insensitive; # begins a comment. Sizes take K, M, G and T (1024), times s,
m and h, rates
kbit, mbit and gbit. A file with any error is refused as a whole; the error names the line and
the allowed
values.
.B stagecastd \-C
only checks the file,
.B stagecastd \-p
prints it with every key. The file must belong to root and be writable by root only. It
is read when
.BR stagecastd (8)
starts and when it gets SIGHUP
.RB ( "systemctl reload stagecastd" ):
stages that begin after that use the new values, except for keys that need a restart, as noted
below. A file with any error
changes nothing. The plugin reads it for each job, for
.BR Enabled ,
.B StageFrom
and
.BR StageTimeout .
Keep it the same on all nodes: a job's first node decides for its group, each node for
its own disks.
.SH KEYS
)";

constexpr std::string_view kTail = R"(.SH EXAMPLE
.nf
StageRoot=/local/stagecast
DestRoots=/local/scratch,/tmp
Interface=hsn0+hsn1,hsn0
RateMax=20gbit
MaxBytes=500G
.fi
.SH SEE ALSO
.BR stagecastd (8),
.BR stagecast\-spank (7)
)";

}  // namespace

std::string print_manual() {
    std::string text{kHead};
    for (const ConfigKey& key : config_keys()) {
        text += ".TP\n.BR " + plain(key.name) + " =\n" + plain(key.help) +
                "\nAllowed: " + plain(allowed(key.kind)) + ".\n";
        const std::string_view fallback = key.fallback.empty() ? "empty" : key.fallback;
        text += "Default: " + plain(fallback) + ".\n";
        text += key.reread == Reread::at_restart ? plain(kAtRestart) + "\n" : "";
    }
    return text += kTail;
}

}  // namespace stage
