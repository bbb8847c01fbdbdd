// The entry points of the plugin: dispatches Slurm's hooks.
//
// The plugin runs in Slurm's processes: no exception, no abort and no thread leaves a hook,
// only an int. Contexts: client (local, allocator) -> submit_side, job_script (prolog, epilog)
// -> PrologSide in a child process, remote (slurmstepd) -> StepSide. It works the same under
// `optional` and `required`: errors are enforced here, not by a return value, which `optional`
// ignores.
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

/// A failed invariant on its way to the hook. Not an std::exception, so that no handler below
/// the hook catches it.
struct Breakdown {
    const char* truth;
    CallSite site;
};

[[noreturn]] void unwind(const char* truth, CallSite site) {
    throw Breakdown{.truth = truth, .site = site};
}

/// The state of the plugin in one Slurm process, which outlives a hook.
struct Plugin {
    explicit Plugin(const Arguments& given)
        : arguments{given}, submit{given}, step{given, asking(given), beginning(given)} {}

    static AskDaemon asking(const Arguments& given) {
        return
            [path = given.socket_path](const Request& request, const CallTimeouts& timeouts) {
                return ask_daemon(path, request, timeouts);
            };
    }

    static BeginAsking beginning(const Arguments& given) {
        return [path = given.socket_path](const Request& request,
                                          const CallTimeouts& timeouts) -> Result<AwaitAnswer> {
            TRY(auto call, SharedCall::begin(path, request, timeouts));
            const auto shared = std::make_shared<const SharedCall>(std::move(call));
            return AwaitAnswer{[shared] { return shared->answer(); }};
        };
    }

    /// Slurm calls each hook twice, here, if plugstack.conf loads the plugin twice. The
    /// second call for the same options has none, and would take the files from the job.
    void on_load() {
        const bool is_new_stack = parsed > 0;
        loads = is_new_stack ? 1 : loads + 1;
        parsed = 0;
    }
    bool is_repeated() { return parsed++ % (loads > 0 ? loads : 1) != 0; }

    Arguments arguments;
    SubmitSide submit;
    StepSide step;
    unsigned loads = 0;   ///< Lines of plugstack.conf that load it.
    unsigned parsed = 0;  ///< Calls of slurm_spank_init_post_opt since then.
};

/// Static, because Slurm's option callback carries no user pointer.
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

/// Ends the process as Slurm's own clients do after an error.
[[noreturn]] void end_client() {
    const char* const wanted =
        std::getenv("SLURM_EXIT_ERROR");  // NOLINT(concurrency-mt-unsafe)
    const long code = wanted == nullptr ? 0 : std::strtol(wanted, nullptr, 10);
    ::_exit(code > 0 && code < 256 ? static_cast<int>(code) : EXIT_FAILURE);
}

/// Runs `hook`. A failure is logged and calls `on_breakdown`. Every hook is wrapped in this
/// function, which is noexcept because slurm/spank.h declares the hooks without it.
template <class Hook, class OnBreakdown>
int run_hook(Hook hook, OnBreakdown on_breakdown) noexcept {
    try {
        set_invariant_handler(unwind);
        hook();
        return SLURM_SUCCESS;
    } catch (const Breakdown& broken) {
        ::slurm_error("stagecast: internal error: %s (%s:%d); please report it",
                      broken.truth,
                      broken.site.file,
                      broken.site.line);
    } catch (const std::exception& broken) {
        ::slurm_error("stagecast: internal error: %s; please report it", broken.what());
    } catch (...) {
        ::slurm_error("stagecast: internal error; please report it");
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
    return run_hook(
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

/// An option that only the client reads.
template <void (SubmitSide::*take)(std::string_view)>
int on_value(int /*val*/, const char* argument, int remote) noexcept {
    return run_hook(
        [&] {
            if (remote == 0) {
                (plugin(0, nullptr).submit.*take)(argument == nullptr ? "" : argument);
            }
        },
        end_client);
}

template <void (SubmitSide::*set)()>
int on_flag(int /*val*/, const char* /*argument*/, int remote) noexcept {
    return run_hook(
        [&] {
            if (remote == 0) {
                (plugin(0, nullptr).submit.*set)();
            }
        },
        end_client);
}

/// Slurm copies the option, but its structure has pointers to non-const.
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
                    on_value<&SubmitSide::on_timeout>);
    register_option(slurm,
                    "stage-verbose",
                    "",
                    "say on the job's stderr what was staged, and how long it took",
                    on_flag<&SubmitSide::on_verbose>);
    register_option(slurm,
                    "stage-no-kill",
                    "",
                    "go on without a node that fails while the job's files are on their way",
                    on_flag<&SubmitSide::on_no_kill>);
    register_option(slurm,
                    "stage-ticket",
                    "TICKET",
                    "for files of another cluster, cluster://CLUSTER/PATH: what stagecast "
                    "ticket has printed there",
                    on_value<&SubmitSide::on_ticket>);
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

/// Runs `act` of a prolog or epilog in a child process, for at most `limit`.
int in_job_script(spank_t slurm,
                  int count,
                  char** words,
                  bool (PrologSide::*concerns)(const SpankHandle&) const,
                  Status (PrologSide::*act)(const SpankHandle&) const,
                  Duration (PrologSide::*limit)() const) {
    return run_hook(
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
    return stage::run_hook(
        [&] {
            const Context context = SlurmHost{slurm}.context();
            if (context != Context::other && context != Context::job_script) {
                stage::plugin(count, words).on_load();
                stage::register_options(slurm);
            }
        },
        stage::nothing);
}

STAGE_EXPORT int slurm_spank_init_post_opt(spank_t slurm, int count, char** words) {
    return stage::run_hook(
        [&] {
            SlurmHost host{slurm};
            stage::Plugin& one = stage::plugin(count, words);
            if (!one.is_repeated()) {
                stage::on_options_parsed(one, host);
            }
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

// (In task_init a container's plugin, for example pyxis, may have entered it already, and that
// view does not count; but another plugin's private /tmp may be mounted in this hook after
// ours.)
STAGE_EXPORT int slurm_spank_task_init_privileged(spank_t slurm, int count, char** words) {
    static_cast<void>(slurm);
    return stage::run_hook([&] { stage::plugin(count, words).step.look_around(); },
                           [&] { stage::on_options_broken(stage::plugin(count, words)); });
}

STAGE_EXPORT int slurm_spank_task_init(spank_t slurm, int count, char** words) {
    return stage::run_hook(
        [&] {
            SlurmHost host{slurm};
            stage::StepSide& step = stage::plugin(count, words).step;
            step.look_around();
            if (step.awaits_files()) {
                // proctrack/linuxproc sends no signal to a process named slurmstepd.
                static_cast<void>(::prctl(PR_SET_NAME, "stagecast-wait"));
                step.await_files(host);
            }
            if (!step.may_start(host)) {
                // This is the forked task: its exit fails the job only, under `optional` too.
                // Exiting one hook earlier, in task_init_privileged, works as well, but
                // slurmstepd then adds a "write to unblock task failed: Broken pipe" per task.
                // The task prolog has not run yet (measured).
                ::_exit(step.exit_status());
            }
            step.tell(host);
        },
        [] { ::_exit(stage::StepSide::kExitTemporary); });
}

STAGE_EXPORT int slurm_spank_exit(spank_t slurm, int count, char** words) {
    return stage::run_hook(
        [&] {
            SlurmHost host{slurm};
            if (host.context() == Context::remote) {
                stage::plugin(count, words).step.on_step_ends(host);
            }
        },
        stage::nothing);
}

}  // extern "C"
