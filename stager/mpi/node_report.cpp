#include "stager/mpi/node_report.h"

#include "transport/base/fields.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::size_t kMaxNodeBytes = 255;
constexpr std::size_t kMaxWhyBytes = 1024;
constexpr std::size_t kMaxReports = 1U << 20U;
constexpr std::size_t kSaidAtMost = 3;

struct Reports {
    std::vector<NodeReport> all;
};

std::string sentence_of(const NodeReport& report) {
    return "rank " + std::to_string(report.rank) + " (" + report.node + "): " + report.why;
}

}  // namespace

void fields(auto& on, Like<NodeReport> auto& report) {
    on.number(report.rank)
        .cut(report.node, kMaxNodeBytes)
        .number(report.status)
        .cut(report.why, kMaxWhyBytes)
        .number(report.blamed)
        .cut(report.blamed_for, kMaxWhyBytes)
        .number(report.bytes);
}

namespace {

void fields(auto& on, Like<Reports> auto& reports) {
    on.list(reports.all, kMaxReports, [](auto& each, auto& one) { stage::fields(each, one); });
}

}  // namespace

std::vector<std::byte> encode_reports(const std::vector<NodeReport>& reports) {
    ByteWriter out;
    FieldWriter on{out};
    const Reports all{reports};
    fields(on, all);
    return out.take();
}

std::optional<std::vector<NodeReport>> decode_reports(Bytes bytes) {
    ByteReader in{bytes};
    FieldReader on{in};
    Reports reports;
    fields(on, reports);
    return in.finished() ? std::optional{std::move(reports.all)} : std::nullopt;
}

void settle_blame(std::vector<NodeReport>& reports) {
    const auto has_failed = [](const NodeReport& one) {
        return one.status == STAGECAST_FAILED;
    };
    if (std::ranges::any_of(reports, has_failed)) {
        return;
    }
    for (const NodeReport& one : reports) {
        if (one.blamed < reports.size()) {
            NodeReport& failed = reports[one.blamed];
            failed.status = STAGECAST_FAILED;
            failed.why = one.blamed_for;
            return;
        }
    }
}

std::string failure_text(const std::vector<NodeReport>& reports) {
    std::string text;
    std::size_t count = 0;
    for (const NodeReport& report : reports) {
        if (report.status != STAGECAST_FAILED) {
            continue;
        }
        if (++count <= kSaidAtMost) {
            text += (text.empty() ? "" : "; ") + sentence_of(report);
        }
    }
    if (count > kSaidAtMost) {
        text += "; and " + std::to_string(count - kSaidAtMost) + " more";
    }
    const auto lacks_it = [](const NodeReport& one) { return one.status > STAGECAST_LEFT; };
    if (count == 0 && std::ranges::any_of(reports, lacks_it)) {
        return "a node failed without saying why";
    }
    return text;
}

}  // namespace stage
