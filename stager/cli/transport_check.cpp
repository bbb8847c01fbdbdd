#include "stager/cli/transport_check.h"

#include "stager/cli/common/daemon_socket.h"
#include "stager/cli/doctor/doctor.h"
#include "stager/cli/push.h"
#include "stager/cli/push/push_report.h"
#include "stager/control/push_key.h"
#include "stager/spec/amount.h"
#include "stager/spec/spec_list.h"
#include "transport/os/unique_fd.h"

#include <fcntl.h>
#include <sysexits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

using nlohmann::json;

constexpr int kNothingDone = 2;
constexpr std::size_t kNamesMax = 32;  ///< Names in a message, as of a stage; --json has all.
constexpr std::string_view kContent = "stagecast doctor --multicast\n";

int fail(int code, const std::string& sentence) {
    static_cast<void>(std::fprintf(stderr, "stagecast doctor: %s\n", sentence.c_str()));
    return code;
}

/// A file of root's that exists as long as the object. Empty path: it could not be made.
class SmallFile {
  public:
    explicit SmallFile(const std::string& directory) {
        std::string name = directory + "/doctor.XXXXXX";
        const UniqueFd file{::mkostemp(name.data(), O_CLOEXEC)};
        if (!file) {
            why_ = Error::from_errno(Blame::node, directory + ": a file can't be made there")
                       .remedy("does stagecastd run here?");
            return;
        }
        path_ = name;
        if (::write(file.get(), kContent.data(), kContent.size()) !=
            static_cast<::ssize_t>(kContent.size())) {
            why_ = Error::from_errno(Blame::node, path_ + ": can't be written");
        }
    }
    SmallFile(const SmallFile&) = delete;
    SmallFile& operator=(const SmallFile&) = delete;
    ~SmallFile() {
        if (!path_.empty()) {
            static_cast<void>(::unlink(path_.c_str()));
        }
    }

    [[nodiscard]] const std::string& path() const { return path_; }
    [[nodiscard]] const std::optional<Error>& why() const { return why_; }

  private:
    std::string path_;
    std::optional<Error> why_;
};

/// A relative destination lies in the push's own directory.
Result<PushRequest> request_for(const TransportQuestion& question, const std::string& source) {
    StageSpec spec;
    spec.source = source;
    spec.destination = "doctor";
    TRY(const auto specs, serialize(std::array{spec}, {}));
    PushRequest request{.id = random_push_key(),
                        .mode = PushMode::push,
                        .rate = 0,
                        .timeout_s = 0,
                        .node_list = question.node_list,
                        .specs = specs};
    if (!fits(request)) {
        return Error{Blame::user, "the list of nodes is too long; write it as n[0-999]"};
    }
    return request;
}

std::string joined(const json& names) {
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), kNamesMax); ++i) {
        text += (i > 0 ? ", " : "") +
                (names[i].is_string() ? printable(names[i].get<std::string>()) : "?");
    }
    return names.size() > kNamesMax
               ? text + " and " + std::to_string(names.size() - kNamesMax) + " more"
               : text;
}

void judge_group(const json& report, std::vector<Finding>& findings) {
    const std::string transport = report.value("transport", "");
    if (transport.empty()) {
        return;
    }
    const std::string why_not = report.value("transport_why_not", "");
    const bool broadcasts =
        transport == "udp broadcast" || why_not.starts_with("udp broadcast: ");
    const std::string payload =
        transport.starts_with("udp ") || transport.starts_with("verbs ")
            ? "; packets carry " + std::to_string(report.value("packet_payload", 0U)) + " bytes"
            : "";
    findings.push_back(
        fine("transport", transport + ": " + report.value("transport_why", "") + payload));
    const json unheard = report.value("unheard_group", json::array());
    const std::size_t colon = why_not.find(": ");
    if (colon != std::string::npos) {
        const std::string rest = "is not used: " + why_not.substr(colon + 2);
        findings.push_back(unheard.empty() ? fine(why_not.substr(0, colon), rest)
                                           : doubtful(why_not.substr(0, colon), rest));
    }
    if (!unheard.empty()) {
        findings.push_back(
            doubtful("group",
                     "not heard by " + joined(unheard) +
                         (broadcasts ? ": they are in another LAN, a switch limits broadcast "
                                       "(storm control), a firewall"
                                     : ": a switch does not forward it to them (IGMP snooping "
                                       "without a querier), a router (TTL) or a firewall") +
                         " stands between, or their route to this node is by another "
                         "interface (rp_filter)"));
    }
}

int tell(const TransportQuestion& question, const json& report) {
    if (question.wants_json) {
        static_cast<void>(std::printf(
            "%s\n", report.dump(-1, ' ', false, json::error_handler_t::replace).c_str()));
    } else {
        static_cast<void>(std::fputs(stage::report(judge_transport(report)).c_str(), stdout));
    }
    const auto done = report.value("done", 0U);
    return done == 0 ? kNothingDone : done < report.value("nodes", 0U) ? 1 : 0;
}

}  // namespace

std::vector<Finding> judge_transport(const json& report) {
    std::vector<Finding> findings;
    for (const json& one : report.value("failed", json::array())) {
        findings.push_back(wrong("node " + printable(one.value("node", "?")),
                                 printable(one.value("why", ""))));
    }
    if (const std::string why = report.value("why", ""); !why.empty()) {
        findings.push_back(wrong("push", printable(why)));
    }
    if (const auto done = report.value("done", 0U); done > 0) {
        findings.push_back(fine("nodes",
                                std::to_string(done) + " of " +
                                    count_text(report.value("nodes", 0U), "node") +
                                    " took part"));
    }
    judge_group(report, findings);
    return findings;
}

int check_transport(const TransportQuestion& question) {
    if (::geteuid() != 0) {
        return fail(EX_NOPERM,
                    "only root may have the daemons try a transport; run this as root");
    }
    const auto socket = daemon_socket(question.config);
    if (!socket) {
        return fail(EX_CONFIG, socket.error().sentence());
    }
    catch_end_signals();  // So that the file goes.
    const SmallFile file{socket->substr(0, socket->rfind('/'))};
    if (file.why()) {
        return fail(EX_CANTCREAT, file.why()->sentence());
    }
    const auto request = request_for(question, file.path());
    if (!request) {
        return fail(EX_USAGE, request.error().sentence());
    }
    const PushEnd end = carry_out_push(*socket, *request, question.wants_json);
    return end.code == 0 ? tell(question, end.report) : fail(end.code, end.why);
}

}  // namespace stage
