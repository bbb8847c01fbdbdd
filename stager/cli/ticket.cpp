#include "stager/cli/ticket.h"

#include "stager/cli/common/command_line.h"
#include "stager/cli/common/daemon_socket.h"
#include "stager/config/value.h"
#include "stager/control/client.h"
#include "stager/spec/stage_spec.h"

#include <sysexits.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <limits>
#include <nlohmann/json.hpp>

namespace stage {
namespace {

constexpr int kNothingDone = 2;
constexpr CallTimeouts kShortTimeout{.connect = std::chrono::seconds{5},
                                     .answer = std::chrono::seconds{10}};

int fail(int code, const std::string& sentence) {
    static_cast<void>(std::fprintf(stderr, "stagecast ticket: %s\n", sentence.c_str()));
    return code;
}

Result<std::uint32_t> read_uid(const std::string& text) {
    const auto uid = read_count(text);
    if (!uid || *uid == 0 || *uid >= std::numeric_limits<std::uint32_t>::max()) {
        return Error{Blame::user, "--uid=" + printable(text) + " is no user's number"}.remedy(
            "write what id -u prints in the other cluster");
    }
    return static_cast<std::uint32_t>(*uid);
}

Result<std::uint32_t> read_lifetime(const std::string& text) {
    const auto time = read_seconds(text);
    const auto seconds =
        time ? std::chrono::duration_cast<std::chrono::seconds>(*time).count() : 0;
    if (seconds < 1 || seconds >= std::numeric_limits<std::uint32_t>::max()) {
        return Error{Blame::user, "--lifetime=" + printable(text) + " is no time"}.remedy(
            "write it as 90min or 12h");
    }
    return static_cast<std::uint32_t>(seconds);
}

/// Without "..", because what a link in front of it leads to is not known to a name.
Result<std::string> plain(const std::string& path, const std::string& here) {
    const std::filesystem::path whole =
        std::filesystem::path{path.starts_with('/') ? path : here + '/' + path};
    for (const auto& part : whole) {
        if (part == "..") {
            return Error{Blame::user, printable(path) + ": goes up by '..'"}.remedy(
                "write it without '..'");
        }
    }
    std::string name = whole.lexically_normal().string();
    while (name.size() > 1 && name.ends_with('/')) {
        name.pop_back();
    }
    if (!is_plain_path(name)) {
        return Error{Blame::user, printable(path) + ": is no path of a file"};
    }
    return name;
}

Status check_readable(const std::vector<std::string>& paths) {
    for (const std::string& path : paths) {
        if (::access(path.c_str(), R_OK) != 0) {
            return Error::from_errno(Blame::user, printable(path));
        }
    }
    return {};
}

}  // namespace

Result<TicketOptions> parse_ticket_options(std::span<char* const> words,
                                           const std::string& here,
                                           std::uint32_t uid) {
    constexpr std::array kOptions{OptionName{"cluster", 'M', true},
                                  OptionName{"uid", 'u', true},
                                  OptionName{"lifetime", 0, true},
                                  OptionName{"config", 'c', true}};
    TRY(const auto line, read_command_line(words, kOptions));
    TicketOptions options;
    options.request.for_uid = uid;
    for (const auto& [name, value] : line.options) {
        if (name == "uid") {
            TRY(options.request.for_uid, read_uid(value));
        } else if (name == "lifetime") {
            TRY(options.request.lifetime_s, read_lifetime(value));
        }
        options.request.cluster = name == "cluster" ? value : options.request.cluster;
        options.config = name == "config" ? value : options.config;
    }
    if (!is_cluster_name(options.request.cluster)) {
        return Error{Blame::user, "name the cluster of the jobs by --cluster="};
    }
    if (line.operands.empty()) {
        return Error{Blame::user, "name the files or directories that the jobs may have"};
    }
    for (const std::string& operand : line.operands) {
        TRY(auto path, plain(operand, here));
        options.request.paths.push_back(std::move(path));
    }
    if (!fits(options.request)) {
        return Error{Blame::user, "the paths are too many or too long together"}.remedy(
            "name the directory that contains the files");
    }
    return options;
}

int run_ticket(std::span<char* const> words) {
    std::string here(PATH_MAX, '\0');
    here = ::getcwd(here.data(), here.size()) == nullptr ? "/" : here.c_str();
    const auto options = parse_ticket_options(words, here, ::getuid());
    if (!options) {
        return fail(EX_USAGE, options.error().sentence());
    }
    if (const Status readable = check_readable(options->request.paths); !readable) {
        return fail(kNothingDone, readable.error().sentence());
    }
    const auto socket = daemon_socket(options->config);
    const auto answer = socket ? ask_daemon(*socket, options->request, kShortTimeout)
                               : Result<Answer>{socket.error()};
    if (!answer) {
        return fail(kNothingDone, answer.error().sentence());
    }
    if (const auto* refused = std::get_if<Refused>(&*answer)) {
        return fail(kNothingDone, printable(refused->sentence));
    }
    const auto* said = std::get_if<Report>(&*answer);
    const auto report =
        nlohmann::json::parse(said != nullptr ? said->json : "", nullptr, false);
    if (!report.is_object() || !report.contains("ticket") || !report["ticket"].is_string()) {
        return fail(kNothingDone, "stagecastd's answer can't be read; is it of this release?");
    }
    const std::time_t end = report.value("expires", std::int64_t{0});
    std::tm parts{};
    std::array<char, 64> text{};
    static_cast<void>(::localtime_r(&end, &parts));
    static_cast<void>(std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S", &parts));
    static_cast<void>(std::printf("%s\n", report["ticket"].get<std::string>().c_str()));
    static_cast<void>(
        std::fprintf(stderr, "good until %s, for jobs that begin before that\n", text.data()));
    return 0;
}

}  // namespace stage
