// stagecast-worker: runs as a stage's worker under stagecastd, or as the engine alone.
//
// stagecastd passes its control socket as descriptor 3 and says so in the environment;
// libstagecast-mpi passes a socket, too, and says so by the only argument; any other caller
// says on the command line what to send and where.
#include "stager/messages/worker_setup.h"
#include "stager/mpi/messages/call_message.h"
#include "stager/worker/called/called_engine.h"
#include "stager/worker/engine/engine.h"
#include "stager/worker/engine/engine_look.h"
#include "stager/worker/staging/under_daemon.h"
#include "transport/os/installation.h"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sysexits.h>
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <system_error>

namespace stage {
namespace {

bool is_under_daemon(int argument_count) {
    const char* value = std::getenv("STAGECAST_CONTROL_FD");  // NOLINT(concurrency-mt-unsafe)
    int type = 0;
    socklen_t length = sizeof type;
    return argument_count <= 1 && value != nullptr && std::string_view{value} == "3" &&
           ::getsockopt(kWorkerControlFd, SOL_SOCKET, SO_TYPE, &type, &length) == 0 &&
           type == SOCK_SEQPACKET;
}

bool is_called(const std::vector<std::string>& arguments) {
    return arguments.size() == 1 && arguments.front() == kCallArgument;
}

/// Raises the limit of open files: a stage of many files holds many open.
void allow_many_files() {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        static_cast<void>(::setrlimit(RLIMIT_NOFILE, &limit));
    }
}

std::string working_directory() {
    std::string room(PATH_MAX, '\0');
    return ::getcwd(room.data(), room.size()) == nullptr ? "/" : room.c_str();
}

int run(const Logger& log, const std::vector<std::string>& arguments, bool under_daemon) {
    Result<Interrupts> interrupts = Interrupts::make();
    if (!interrupts) {
        log.error("the worker cannot start", {{"why", interrupts.error().sentence()}});
        return EX_OSERR;
    }
    allow_many_files();
    if (under_daemon) {
        return run_under_daemon(log, *interrupts);
    }
    if (is_called(arguments)) {
        return run_called_engine(log, *interrupts);
    }
    const Result<EngineOptions> options = parse_engine_options(arguments, working_directory());
    if (!options) {
        static_cast<void>(
            std::fprintf(stderr, "stagecast-worker: %s\n", options.error().sentence().c_str()));
        return EX_USAGE;
    }
    if (options->wants_help || options->wants_version) {
        const std::string text = options->wants_help
                                     ? engine_help()
                                     : std::string{"stagecast-worker "} + version() + '\n';
        return std::fputs(text.c_str(), stdout) < 0 ? EX_IOERR : EX_OK;
    }
    if (options->look != EngineOptions::Look::none) {
        return run_engine_look(*options, *interrupts);
    }
    return run_engine(log, *options, *interrupts);
}

}  // namespace
}  // namespace stage

int main(int argc, char** argv) {
    const bool under_daemon = stage::is_under_daemon(argc);
    if (under_daemon) {
        // The user's other processes may not trace this one: it holds the daemon's socket and
        // runs in the daemon's service, outside of the job. (The engine alone may be traced and
        // debugged.)
        static_cast<void>(::prctl(PR_SET_DUMPABLE, 0));
    }
    const std::vector<std::string> arguments{argv + (argc > 0 ? 1 : 0), argv + argc};
    if (!under_daemon && stage::is_called(arguments)) {
        stage::close_inherited();
    }
    const auto log = stage::Logger::to_stderr("stagecast-worker", stage::LogLevel::info);
    // The user may have reached the limit of processes (RLIMIT_NPROC counts threads) or memory.
    try {
        return stage::run(log, arguments, under_daemon);
    } catch (const std::system_error& failed) {
        log.error(
            "the worker can't start a thread; does the user have too many processes "
            "(ulimit -u)?",
            {{"why", failed.code().message()}});
    } catch (const std::bad_alloc&) {
        log.error("the worker is out of memory");
    }
    return EX_OSERR;
}
