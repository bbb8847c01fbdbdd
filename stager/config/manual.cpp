// stagecast.conf(5), out of the same table as everything else that is said about the keys.
#include "stager/config/key.h"

namespace stage {
namespace {

/// Text for troff: nothing in it is a request or an escape.
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
stagecast.conf \- what a site has decided about staging files
.SH SYNOPSIS
/etc/stagecast/stagecast.conf
.SH DESCRIPTION
One
.IR Key = Value
a line, as in
.BR slurm.conf (5).
Case of keys does not matter; # begins a comment. Sizes take K, M, G and T (1024), times s,
m and h, rates
kbit, mbit and gbit. A file with anything wrong in it is refused whole, naming the line and
what would be
allowed;
.B stagecastd \-C
does nothing else,
.B stagecastd \-p
prints the file with every key. The file belongs to root and nobody else may write to it. It
is read when
.BR stagecastd (8)
starts and when it gets SIGHUP
.RB ( "systemctl reload stagecastd" ):
stagings that begin from then on go by the new file, but for keys of which it is said
otherwise. A file with anything
wrong in it changes nothing. The plugin reads it for each job, for
.BR Enabled ,
.B StageFrom
and
.BR StageTimeout .
Keep it the same on all nodes: the first node of a job decides for the group, each node for
its own disk.
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
