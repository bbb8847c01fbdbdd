// Which hook of Slurm's leads where?
//
// Dispatch only. A guest in Slurm's processes: nothing but an int leaves a hook, no exception,
// no abort, no thread. In the contexts: client (local, allocator) -> submit_side, job_script
// (prolog, epilog) -> PrologSide in a child of its own, remote (slurmstepd) -> StepSide. Works
// the same as `optional` and as `required`: what must not happen is prevented here, not by a
// return value, which `optional` ignores.
#include "spank/host/apart.h"
#include "spank/host/names.h"
#include "spank/host/slurm_host.h"
#include "spank/job/prolog_side.h"
#include "spank/job/step_side.h"
#include "spank/submit/submit_side.h"
#include "stager/control/shared_call.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <exception>
#include <memory>

#define STAGE_EXPORT __attribute__((visibility("default")))

extern "C" {
STAGE_EXPORT extern const char plugin_name[];
STAGE_EXPORT extern const char plugin_type[];
STAGE_EXPORT extern const unsigned int plugin_version;
const char plugin_name[] = "stagecast";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;
}

namespace stage {
namespace {

/// A failed invariant on its way to the hook. Not an std::exception: nobody below catches it.
struct Breakdown {
    const char* truth;
    CallSite site;
};

[[noreturn]] void unwind(const char* truth, CallSite site) {
    throw Breakdown{.truth = truth, .site = site};
}

/// What must outlive a hook, in one process of Slurm's.
struct Plugin {
    explicit Plugin(const Arguments& given)
        : arguments{given}, submit{given}, step{given, asking(given), beginning(given)} {}

    static AskDaemon asking(const Arguments& given) {
        return
            [path = given.socket_path](const Request& request, const CallPatience& patience) {
                return ask_daemon(path, request, patience);
            };
    }

    static BeginAsking beginning(const Arguments& given) {
        return [path = given.socket_path](const Request& request,
                                          const CallPatience& patience) -> Result<AwaitAnswer> {
            auto call = SharedCall::begin(path, request, patience);
            if (!call) {
                return call.error();
            }
            const auto shared = std::make_shared<const SharedCall>(*std::move(call));
            return AwaitAnswer{[shared] { return shared->answer(); }};
        };
    }

    Arguments arguments;
    SubmitSide submit;
    StepSide step;
};

/// The one static: Slurm's option callback carries no pointer of ours.
std::optional<Plugin>& instance() {
    static std::optional<Plugin> plugin;
    return plugin;
}

Plugin& plugin(int count, char** words) {
    auto& one = instance();
    if (!one) {
        one.emplace(parse_arguments({words, static_cast<std::size_t>(count < 0 ? 0 : count)}));
    }
    return *one;
}

/// As Slurm's own clients leave when they must.
[[noreturn]] void end_client() {
    const char* const wanted =
        std::getenv("SLURM_EXIT_ERROR");  // NOLINT(concurrency-mt-unsafe)
    const long code = wanted == nullptr ? 0 : std::strtol(wanted, nullptr, 10);
    ::_exit(code > 0 && code < 256 ? static_cast<int>(code) : EXIT_FAILURE);
}

/// Runs `hook`. Whatever breaks is logged and ends in `on_breakdown`. Each hook of Slurm's is
/// one call of this: noexcept here, since slurm/spank.h declares them without.
template <class Hook, class OnBreakdown>
int guest(Hook hook, OnBreakdown on_breakdown) noexcept {
    try {
        set_invariant_handler(unwind);
        hook();
        return SLURM_SUCCESS;
    } catch (const Breakdown& broken) {
        ::slurm_error("stagecast: broken: %s (%s:%d); please report it",
                      broken.truth,
                      broken.site.file,
                      broken.site.line);
    } catch (const std::exception& broken) {
        ::slurm_error("stagecast: broken: %s; please report it", broken.what());
    } catch (...) {
        ::slurm_error("stagecast: broken; please report it");
    }
    try {
        on_breakdown();
    } catch (...) {
        return SLURM_SUCCESS;
    }
    return SLURM_SUCCESS;
}

void nothing() {
}

bool is_client(const SpankHandle& handle) {
    return handle.context() == Context::local || handle.context() == Context::allocator;
}

int on_option(int /*val*/, const char* argument, int remote) noexcept {
    return guest(
        [&] {
            Plugin& one = plugin(0, nullptr);
            if (remote != 0) {
                one.step.on_option();
                return;
            }
            const bool inherited = std::getenv(kInheritedOption) != nullptr;  // NOLINT
            one.submit.on_option(argument == nullptr ? "" : argument, inherited);
        },
        end_client);
}

int on_timeout(int /*val*/, const char* argument, int remote) noexcept {
    return guest(
        [&] {
            if (remote == 0) {
                plugin(0, nullptr).submit.on_timeout(argument == nullptr ? "" : argument);
            }
        },
        end_client);
}

int on_verbose(int /*val*/, const char* /*argument*/, int remote) noexcept {
    return guest(
        [&] {
            if (remote == 0) {
                plugin(0, nullptr).submit.on_verbose();
            }
        },
        end_client);
}

/// Slurm copies what it is given, but takes pointers to what may be changed.
void register_option(spank_t slurm,
                     std::string name,
                     std::string argument,
                     std::string usage,
                     spank_opt_cb_f callback) {
    spank_option option{};
    option.name = name.data();
    option.arginfo = argument.empty() ? nullptr : argument.data();
    option.usage = usage.data();
    option.has_arg = argument.empty() ? 0 : 1;
    option.cb = callback;
    static_cast<void>(::spank_option_register(slurm, &option));
}

void register_options(spank_t slurm) {
    register_option(
        slurm,
        "stage-file",
        "SRC[:DST[:FLAGS]]",
        "put SRC, a file or a directory, on the local storage of every node of the job "
        "before it runs, by default into $STAGECAST_DIR; repeatable",
        on_option);
    register_option(slurm,
                    "stage-timeout",
                    "TIME",
                    "give up staging after TIME (10min, 90s, 1:30), sooner than the site would",
                    on_timeout);
    register_option(slurm,
                    "stage-verbose",
                    "",
                    "say on the job's stderr what was staged, and how long it took",
                    on_verbose);
}

void on_options_parsed(Plugin& plugin, SlurmHost& host) {
    if (host.context() == Context::remote) {
        plugin.step.on_step_begins(host);
        return;
    }
    if (!is_client(host)) {
        return;
    }
    if (const Status done = plugin.submit.on_options_parsed(host); !done) {
        host.say_error("stagecast: " + done.error().sentence());
        end_client();
    }
}

/// Prolog and epilog: `act` in a child of its own, for no longer than `limit` says.
int in_job_script(spank_t slurm,
                  int count,
                  char** words,
                  bool (PrologSide::*concerns)(const SpankHandle&) const,
                  Status (PrologSide::*act)(const SpankHandle&) const,
                  Duration (PrologSide::*limit)() const) {
    return guest(
        [&] {
            SlurmHost host{slurm};
            const Plugin& one = plugin(count, words);
            const PrologSide side{one.arguments, Plugin::asking(one.arguments)};
            if (!(side.*concerns)(host)) {
                return;
            }
            const Status done =
                run_in_child([&] { return (side.*act)(host); }, (side.*limit)());
            if (!done) {
                host.say_error("stagecast: " + done.error().sentence());
            }
        },
        nothing);
}

void on_options_broken(Plugin& plugin) {
    if (plugin.submit.is_pending()) {
        end_client();
    }
    plugin.step.on_breakdown();
}

}  // namespace
}  // namespace stage

using stage::Context;
using stage::SlurmHost;

extern "C" {

STAGE_EXPORT int slurm_spank_init(spank_t slurm, int count, char** words) {
    return stage::guest(
        [&] {
            const Context context = SlurmHost{slurm}.context();
            if (context != Context::other && context != Context::job_script) {
                static_cast<void>(stage::plugin(count, words));
                stage::register_options(slurm);
            }
        },
        stage::nothing);
}

STAGE_EXPORT int slurm_spank_init_post_opt(spank_t slurm, int count, char** words) {
    return stage::guest(
        [&] {
            SlurmHost host{slurm};
            stage::on_options_parsed(stage::plugin(count, words), host);
        },
        [&] { stage::on_options_broken(stage::plugin(count, words)); });
}

STAGE_EXPORT int slurm_spank_job_prolog(spank_t slurm, int count, char** words) {
    return stage::in_job_script(slurm,
                                count,
                                words,
                                &stage::PrologSide::is_concerned,
                                &stage::PrologSide::announce,
                                &stage::PrologSide::announce_limit);
}

STAGE_EXPORT int slurm_spank_job_epilog(spank_t slurm, int count, char** words) {
    return stage::in_job_script(slurm,
                                count,
                                words,
                                &stage::PrologSide::is_to_conclude,
                                &stage::PrologSide::conclude,
                                &stage::PrologSide::conclude_limit);
}

// (In task_init a container's plugin, pyxis for one, may have entered it already, and that look
// does not count; but another plugin's private /tmp may be mounted in this hook behind ours.)
STAGE_EXPORT int slurm_spank_task_init_privileged(spank_t slurm, int count, char** words) {
    static_cast<void>(slurm);
    return stage::guest([&] { stage::plugin(count, words).step.look_around(); },
                        [&] { stage::on_options_broken(stage::plugin(count, words)); });
}

STAGE_EXPORT int slurm_spank_task_init(spank_t slurm, int count, char** words) {
    return stage::guest(
        [&] {
            SlurmHost host{slurm};
            stage::StepSide& step = stage::plugin(count, words).step;
            step.look_around();
            if (step.awaits_files()) {
                // What is called slurmstepd is sent no signal by proctrack/linuxproc.
                static_cast<void>(::prctl(PR_SET_NAME, "stagecast-wait"));
                step.await_files(host);
            }
            if (!step.may_start(host)) {
                // We are the forked task: this fails the job alone, under `optional` too. One
                // hook earlier, in task_init_privileged, it does as well, but slurmstepd then
                // adds a "write to unblock task failed: Broken pipe" per task. The task prolog
                // has not run yet (measured).
                ::_exit(step.exit_status());
            }
            step.tell(host);
        },
        [] { ::_exit(stage::StepSide::kExitTemporary); });
}

STAGE_EXPORT int slurm_spank_exit(spank_t slurm, int count, char** words) {
    return stage::guest(
        [&] {
            SlurmHost host{slurm};
            if (host.context() == Context::remote) {
                stage::plugin(count, words).step.on_step_ends(host);
            }
        },
        stage::nothing);
}

}  // extern "C"
