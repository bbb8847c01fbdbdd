#include "stager/daemon/result/node_verdict.h"

#include "stager/daemon/jobs/library_directories.h"

namespace stage {
namespace {

/// What was staged, and what of the source is not in the copies.
std::string summary_here(const StageFacts& facts,
                         const Verdict& own,
                         const SettledFacts& known) {
    static const WorkerStatistics kNothing;
    const WorkerStatistics& counted = known.outcome ? known.outcome->statistics : kNothing;
    const std::size_t files = counted.files != 0 ? counted.files : own.paths.size();
    return summary_of(facts, files, known.times) +
           (counted.remarks.empty() ? "" : "; " + printable(counted.remarks));
}

Verdict with_paths(const GroupVerdict& verdict, const SettledFacts& known) {
    Verdict own{.state = verdict.state,
                .blame = verdict.blame,
                .sentence = printable(verdict.sentence),
                .stage_dir = {},
                .paths = {},
                .dropped_nodes = known.dropped_nodes};
    if (known.own_failure) {
        own.state = VerdictState::dropped;
        own.blame = known.own_failure->blame;
        own.sentence = printable(known.own_failure->sentence);
    }
    if (is_failure(own.state) && own.blame != Blame::user && known.port_beyond_range) {
        own.sentence += "; the worker here listened on TCP port " +
                        std::to_string(*known.port_beyond_range) +
                        ", which a firewall may block: other programs have the TCP ports of "
                        "DataPortRange ('ss -ltnp' shows which)";
    }
    if (!is_failure(own.state) && known.outcome) {
        own.stage_dir = known.stage_dir;
        own.paths = known.outcome->paths;
        own.directories = known.outcome->directories;
    }
    if (!fits(own)) {
        own.paths.clear();
    }
    if (!fits(own)) {
        own.directories.clear();
    }
    return own;
}

}  // namespace

NodeVerdict node_verdict(const GroupVerdict& verdict, const SettledFacts& known) {
    Verdict own = with_paths(verdict, known);
    StageFacts facts{.key = known.key,
                     .nodes = known.nodes,
                     .bytes = known.bytes,
                     .outcome = own.state,
                     .blame = own.blame,
                     .sentence = own.sentence,
                     .role = known.role};
    std::string summary = summary_here(facts, own, known);
    if (known.is_verbose && own.state == VerdictState::ok) {
        own.sentence = summary;
    }
    if (known.outcome && !own.paths.empty()) {
        add_library_directories(own, known.outcome->libs_directories);
    }
    return {
        .verdict = std::move(own), .facts = std::move(facts), .summary = std::move(summary)};
}

}  // namespace stage
