#include "stager/daemon/result/node_verdict.h"

#include "stager/daemon/jobs/library_directories.h"

#include <nlohmann/json.hpp>

namespace stage {
namespace {

/// What the worker counted; 0 if its line, which may say anything, does not have it.
std::size_t files_in(const std::string& statistics) {
    const auto line = nlohmann::json::parse(statistics, nullptr, /*allow_exceptions=*/false);
    const auto found = line.is_object() ? line.find("files") : line.end();
    return line.is_object() && found != line.end() && found->is_number_unsigned()
               ? found->get<std::size_t>()
               : 0;
}

/// What of the source is not in the copies, in words; empty: nothing, or it is unknown.
std::string remarks_in(const std::string& statistics) {
    const auto line = nlohmann::json::parse(statistics, nullptr, /*allow_exceptions=*/false);
    const auto found = line.is_object() ? line.find("remarks") : line.end();
    const bool is_there = line.is_object() && found != line.end() && found->is_string();
    return is_there ? "; " + printable(found->get<std::string>()) : std::string{};
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
    if (known.is_verbose && own.state == VerdictState::ok) {
        const std::size_t files = known.outcome ? files_in(known.outcome->statistics) : 0;
        own.sentence = summary_of(facts, files != 0 ? files : own.paths.size(), known.times) +
                       (known.outcome ? remarks_in(known.outcome->statistics) : "");
    }
    if (known.outcome && !own.paths.empty()) {
        add_library_directories(own, known.outcome->libs_directories);
    }
    return {.verdict = std::move(own), .facts = std::move(facts)};
}

}  // namespace stage
