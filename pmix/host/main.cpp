// stagecast-pmix-host: the PMIx server of one worker.
//
// It is a spare until its daemon gives it a job; then it runs as the job's user. It polls the
// daemon's socket (descriptor 3), its mailbox and its gate, and exits when the socket is
// closed. host_message.h describes the protocol.
#include "pmix/host/host.h"
#include "pmix/host/identity.h"
#include "pmix/host/pmix_server.h"
#include "transport/base/log.h"

#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <chrono>
#include <csignal>
#include <optional>
#include <string_view>
#include <vector>

namespace stage::pmix_host {
namespace {

/// Address space, bytes. 4096 nodes take 60 MB; the rest is for threads' stacks.
constexpr std::uint64_t kMemoryMax = 2U << 30U;

struct Options {
    ServerSettings server;
    SpareUser spare;
    bool gate = true;
};

std::optional<SpareUser> parse_spare(std::string_view text) {
    SpareUser spare;
    const char* const end = text.data() + text.size();
    const auto uid = std::from_chars(text.data(), end, spare.uid);
    if (uid.ec != std::errc{} || uid.ptr == end || *uid.ptr != ':') {
        return std::nullopt;
    }
    const auto gid = std::from_chars(uid.ptr + 1, end, spare.gid);
    const bool is_sound = gid.ec == std::errc{} && gid.ptr == end && spare.is_sound();
    return is_sound ? std::optional{spare} : std::nullopt;
}

Result<Options> read_options(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; ++i) {
        const std::string_view word = argv[i];
        const auto value_of = [&](std::string_view name) {
            return word.starts_with(name) ? word.substr(name.size()) : std::string_view{};
        };
        if (const auto directory = value_of("--tmpdir="); directory.starts_with('/')) {
            options.server.directory = directory;
        } else if (const auto security = value_of("--psec=");
                   security == "munge" || security == "native") {
            options.server.security = security;
        } else if (const auto ids = value_of("--spare="); !ids.empty()) {
            const std::optional<SpareUser> spare = parse_spare(ids);
            if (!spare) {
                return Error{Blame::user, "--spare=UID:GID, neither of them root's"};
            }
            options.spare = *spare;
        } else if (word == "--no-gate") {
            options.gate = false;
        } else {
            return Error{Blame::user,
                         "unknown argument " + std::string{word} +
                             "; stagecast-pmix-host is started by stagecastd"};
        }
    }
    if (options.server.directory.empty()) {
        return Error{Blame::user, "--tmpdir=DIR is missing"};
    }
    return options;
}

Instant now() {
    return Instant{std::chrono::steady_clock::now().time_since_epoch()};
}

/// Sends to the daemon. If the daemon has ended or does not read, this process exits.
void tell(const FromHost& message) {
    if (!send_host_message(kHostControlFd, encode_from_host(message))) {
        ::_exit(1);
    }
}

/// Milliseconds for poll(), rounded up.
int wait_until(const std::optional<Instant>& deadline) {
    if (!deadline) {
        return -1;
    }
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now()).count();
    return left < 0 ? 0 : static_cast<int>(left);
}

/// Returns false at the end of the socket.
Result<bool> read_daemon(Host& host) {
    TRY(auto received, receive_to_host(kHostControlFd));
    if (received.kind == HostReceived::Kind::closed) {
        return false;
    }
    if (received.kind == HostReceived::Kind::message) {
        TRY(auto message, decode_to_host(received.message));
        host.on_message(now(), std::move(message));
    }
    return true;
}

/// Waits for the daemon, the library or the gate. True if the daemon's socket is readable.
bool wait_for_any(const Host& host, const Mailbox& mailbox, const Gate* gate) {
    std::vector<pollfd> watched{{.fd = kHostControlFd, .events = POLLIN, .revents = 0},
                                {.fd = mailbox.fd(), .events = POLLIN, .revents = 0}};
    if (gate != nullptr) {
        gate->watch(watched);
    }
    const int ready = ::poll(watched.data(), watched.size(), wait_until(host.deadline()));
    invariant(ready >= 0 || errno == EINTR, "poll() is asked about our own descriptors");
    return ready > 0 && watched.front().revents != 0;
}

Status serve(Host& host, Mailbox& mailbox, Gate* gate) {
    while (!host.over()) {
        const bool daemon_speaks = wait_for_any(host, mailbox, gate);
        if (gate != nullptr) {
            gate->attend();
        }
        for (Upcall& upcall : mailbox.take()) {
            host.on_upcall(now(), std::move(upcall));
        }
        // Deadlines are checked last: a pulse that arrived while this thread was waiting is in
        // time.
        host.on_time(now());
        const Result<bool> open = daemon_speaks ? read_daemon(host) : Result<bool>{true};
        if (!open || !*open) {
            return open ? Status{} : Status{open.error()};
        }
    }
    return {};
}

Status prepare(const Options& options) {
    static_cast<void>(std::signal(SIGPIPE, SIG_IGN));
    if (Status limited = limit_memory(kMemoryMax); !limited) {
        return limited;
    }
    return options.server.security == "munge" ? munge_answers() : Status{};
}

/// Opens the gate and moves this process behind it; returns nothing where the kernel does not
/// allow it.
std::unique_ptr<Gate> close_off(const Options& options, const Logger& log) {
    Result<std::unique_ptr<Gate>> gate = Gate::open(log);
    if (const Status left =
            gate ? leave_node(options.spare, options.server.directory) : Status{gate.error()};
        !left) {
        log.warn("this node's other users can't be kept from a PMIx listener",
                 {{"why", left.error().sentence()}});
        return nullptr;
    }
    return *std::move(gate);
}

Status run(Options options, const Logger& log) {
    if (Status prepared = prepare(options); !prepared) {
        return prepared;
    }
    const std::unique_ptr<Gate> gate = options.gate ? close_off(options, log) : nullptr;
    if (options.gate && gate == nullptr) {
        tell(HostReady{.gated = false});  // Without a gate no listener is opened.
        return {};
    }
    options.server.gate = gate.get();
    Mailbox mailbox;
    TRY(auto server, PmixServer::start(options.server, mailbox));
    Host host{*server, tell};
    tell(HostReady{.gated = gate != nullptr});
    return serve(host, mailbox, gate.get());
}

}  // namespace
}  // namespace stage::pmix_host

int main(int argc, char** argv) {
    using namespace stage;
    static_cast<void>(::prctl(PR_SET_DUMPABLE, 0));
    const Logger log = Logger::to_stderr("stagecast-pmix-host", LogLevel::info);
    const Result<pmix_host::Options> options = pmix_host::read_options(argc, argv);
    if (!options) {
        log.error(options.error().sentence());
        return 64;
    }
    const Status ended = pmix_host::run(*options, log);
    if (!ended) {
        log.error(ended.error().sentence());
        pmix_host::tell(
            HostFailed{.blame = ended.error().blame(), .sentence = ended.error().sentence()});
    }
    // The library's threads still run, perhaps stuck, so nothing is destroyed.
    ::_exit(ended ? 0 : 1);
}
