#include "spank/submit_side.h"

#include "spank/batch_script.h"
#include "spank/client_words.h"
#include "spank/names.h"
#include "spank/private_tmp.h"
#include "spank/source_check.h"
#include "spank/stage_timeout.h"
#include "stager/control/destination.h"
#include "stager/control/spec_list.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::string_view kOption = "--stage-file";

/// Whether tasks run in a container that is made before there are tasks, of what may have been
/// staged: pyxis' --container-image and the like, or Slurm's own --container.
bool has_container(const SpankHandle& handle) {
    const std::vector<std::string> words = handle.command_line();
    return std::ranges::any_of(
               own_words(words),
               [](const std::string& word) { return word.starts_with("--container"); }) ||
           handle.variable(kInheritedContainer) || handle.variable("SLURM_CONTAINER");
}

/// As a shell would: it does not within --stage-file=~/input.
void expand_home(std::string& path, const std::string& home) {
    if (home.starts_with('/') && (path == "~" || path.starts_with("~/"))) {
        path.replace(0, 1, home);
    }
}

bool is_inside_job(const SpankHandle& handle) {
    return handle.variable("SLURM_JOB_ID") || handle.variable("SLURM_JOBID");
}

/// Whether this srun begins a step of another job than the one around it.
bool is_for_other_job(const SpankHandle& handle) {
    const auto named = argument_value(handle.command_line(), "--jobid", {});
    auto own = handle.variable("SLURM_JOB_ID");
    if (!own) {
        own = handle.variable("SLURM_JOBID");
    }
    return handle.context() == Context::local && named && own && *named != *own;
}

/// Whether this client makes a job of its own, which will have a prolog. Only srun may not.
bool makes_job(const SpankHandle& handle) {
    return handle.context() == Context::allocator ||
           (!is_inside_job(handle) &&
            !argument_value(handle.command_line(), "--jobid", {}).has_value());
}

/// The cluster that the user named by -M, there or in the script, if it is another one than
/// ours.
std::optional<std::string> other_cluster(const SpankHandle& handle,
                                         const std::optional<ClusterFacts>& facts) {
    auto named = argument_value(handle.command_line(), "--clusters", "-M");
    if (!named) {
        named = argument_value(handle.command_line(), "--cluster", {});
    }
    for (const char* const name : {"SBATCH_CLUSTERS", "SLURM_CLUSTERS"}) {
        if (!named) {
            named = handle.variable(name);
        }
    }
    if (!named && handle.client() == "sbatch") {
        named = cluster_of_script(handle.command_line(), handle.working_directory());
    }
    const bool is_ours = named && facts && *named == facts->name;
    return is_ours ? std::nullopt : named;
}

Status check_prolog_flags(const ClusterFacts& facts) {
    if (!facts.prolog_at_allocation) {
        return Error{Blame::node,
                     "this cluster starts no prolog at allocation, so files cannot be staged "
                     "before the job runs"}
            .remedy("ask its administrator for PrologFlags=Alloc in slurm.conf");
    }
    if (facts.prolog_serial) {
        return Error{
            Blame::node,
            "this cluster runs prologs one after the other, and staging needs those of "
            "all nodes at once"}
            .remedy("ask its administrator to take Serial out of PrologFlags in slurm.conf");
    }
    if (facts.prolog_in_job) {
        return Error{Blame::node,
                     "this cluster runs prologs inside the job, where Slurm does not call the "
                     "plugin that stages files"}
            .remedy("ask its administrator to take RunInJob out of PrologFlags in slurm.conf");
    }
    return {};
}

/// As the job's tasks get it from Slurm: what the variable says, if it is there.
std::uint16_t umask_of(const SpankHandle& handle) {
    const auto text = handle.variable("SLURM_UMASK");
    const auto told = text ? parse_umask(*text) : std::nullopt;
    return told ? *told : process_umask().value_or(kUsualUmask);
}

/// What the client itself does about a source: nothing, a notice, or the end.
Status check_on_submit_host(SpankHandle& handle, const StageSpec& spec) {
    if (spec.is_late) {
        return {};
    }
    Status found = check_source(spec);
    if (found || !spec.is_optional) {
        return found;
    }
    handle.say(std::string{kOption} + ": " + found.error().sentence() +
               "; it is optional, the job is submitted all the same");
    return {};
}

/// What the environment of a client inside a job says of that job's files is no news to a new
/// one.
void forget_surrounding_job(SpankHandle& handle) {
    handle.set_variable(kJobSign, kNothing);
    static_cast<void>(handle.hand_to_prolog(kHandedName, kNothing));
    for (const char* const name : {kStageDir, kStageFiles, kJobStatus, kStepDir}) {
        handle.unset_variable(name);
    }
}

}  // namespace

void SubmitSide::on_option(std::string_view value, bool inherited) {
    // An inherited one comes first, and once: slurm calls it before the command line's.
    if (std::exchange(is_first_value_, false) && inherited) {
        return;
    }
    // Too many or too long: enough is kept for serialize() to refuse it with a sentence.
    if (values_.size() <= kMaxSpecs && value_bytes_ <= 4 * kMaxSpecsBytes) {
        values_.emplace_back(value.substr(0, 4 * kMaxSpecsBytes));
        value_bytes_ += value.size();
    }
}

/// Without the option: what the client's variable says, a spec a line.
void SubmitSide::take_defaults(const SpankHandle& handle) {
    origin_ = kOption;
    if (!values_.empty()) {
        return;
    }
    const bool is_srun = handle.context() == Context::local;
    const char* const name = is_srun                       ? kSrunDefault
                             : handle.client() == "salloc" ? kSallocDefault
                                                           : kSbatchDefault;
    // (Of a step by which salloc starts its shell nobody thought as of one with files.)
    const bool is_shell =
        is_srun && argument_value(handle.command_line(), "--interactive", {}).has_value();
    const auto text = is_shell ? std::nullopt : handle.variable(name);
    std::string_view rest = text ? std::string_view{*text} : std::string_view{};
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(rest.size(), line.size() + 1));
        if (!line.empty()) {
            is_first_value_ = false;
            on_option(line, false);
            origin_ = name;
        }
    }
}

Result<StageWishes> SubmitSide::wishes(const SpankHandle& handle, const Site& site) const {
    StageWishes wishes{.timeout_s = 0, .is_verbose = is_verbose_, .umask = umask_of(handle)};
    if (timeout_.empty()) {
        return wishes;
    }
    const auto wanted = read_stage_timeout(timeout_);
    if (!wanted) {
        return wanted.error();
    }
    if (*wanted > site.stage_timeout) {
        const auto most = std::chrono::duration_cast<std::chrono::seconds>(site.stage_timeout);
        return Error{
            Blame::user,
            "--stage-timeout=" + printable(timeout_) + " is longer than this site allows"}
            .remedy("ask for at most " + std::to_string(most.count()) + "s");
    }
    wishes.timeout_s =
        static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(*wanted).count());
    return wishes;
}

/// What was collected, with whole paths.
Result<std::vector<StageSpec>> SubmitSide::specs(const SpankHandle& handle) const {
    const std::string directory = handle.working_directory();
    const std::string home = handle.variable("HOME").value_or("");
    std::vector<StageSpec> specs;
    for (const std::string& value : values_) {
        auto spec = parse_spec(value);
        if (!spec) {
            return spec.error();
        }
        expand_home(spec->source, home);
        expand_home(spec->destination, home);
        if (!spec->source.starts_with('/') && directory.empty()) {
            return Error{Blame::user, "the working directory does not exist any more"}.remedy(
                "change to another one, or write the whole path");
        }
        specs.push_back(made_absolute(*std::move(spec), directory.empty() ? "/" : directory));
    }
    return specs;
}

Result<std::string> SubmitSide::checked(SpankHandle& handle,
                                        bool makes_job,
                                        const Site& site,
                                        StageWishes wanted) {
    if (!site.is_enabled) {
        return Error{Blame::node, "stagecast is switched off at this site"}.remedy(
            "leave the option out, or ask the administrator (Enabled in stagecast.conf)");
    }
    const auto specs = this->specs(handle);
    if (!specs) {
        return specs.error();
    }
    if (std::ranges::any_of(*specs, &StageSpec::is_with_libraries)) {
        const std::string path = handle.variable("LD_LIBRARY_PATH").value_or("");
        if (path.size() > kMaxLibraryPathBytes) {
            return Error{Blame::user,
                         "LD_LIBRARY_PATH has " + std::to_string(path.size()) +
                             " bytes, and libs takes " + std::to_string(kMaxLibraryPathBytes)}
                .remedy("shorten it, or unset it where the program finds its libraries");
        }
        wanted.ld_library_path = path;
    }
    wanted.has_container = !makes_job && has_container(handle);
    auto line = serialize(*specs, wanted);
    if (!line) {
        return line;
    }
    const auto facts = makes_job ? handle.cluster_facts() : std::nullopt;
    if (const auto cluster = makes_job ? other_cluster(handle, facts) : std::nullopt) {
        handle.say(std::string{kOption} + ": paths are not checked here for cluster " +
                   printable(*cluster));
        return line;
    }
    if (facts) {
        if (const Status flags = check_prolog_flags(*facts); !flags) {
            return flags.error();
        }
    }
    for (const StageSpec& spec : *specs) {
        if (const Status source = check_on_submit_host(handle, spec); !source) {
            return source.error();
        }
        if (const Status seen =
                facts && facts->private_tmp ? check_private_tmp(spec) : Status{};
            !seen) {
            return seen.error();
        }
    }
    return line;
}

Status SubmitSide::hand_to_job(SpankHandle& handle, const std::string& line) {
    if (!handle.hand_to_prolog(kHandedName, line)) {
        return Error{Blame::internal, "Slurm does not take the list of files for the prolog"};
    }
    if (handle.context() == Context::local) {
        handle.set_variable(kJobSign, kSomething);
    }
    handle.unset_variable(kStepSpecs);
    // Those of a job around this one: on a node without the plugin nothing would replace them.
    for (const char* const name : {kStageDir, kStageFiles, kJobStatus, kStepDir}) {
        handle.unset_variable(name);
    }
    return {};
}

Status SubmitSide::hand_to_step(SpankHandle& handle, const std::string& line) {
    // All components of a step share one environment (measured), so whose specs would it be?
    if (component_ > 1) {
        return Error{Blame::user,
                     "a step over several components of a heterogeneous job cannot stage files "
                     "of its own"}
            .remedy("give --stage-file to the job, or to a step of one component");
    }
    has_step_specs_ = true;
    handle.set_variable(kStepSpecs, line);
    return {};
}

Status SubmitSide::on_options_parsed(SpankHandle& handle) {
    ++component_;
    take_defaults(handle);
    is_first_value_ = true;
    if (has_step_specs_ && component_ > 1) {
        return hand_to_step(handle, {});
    }
    // A job made inside one that stages, or a step of another one: it must not look for files
    // it never asked for.
    const bool is_own =
        values_.empty() && (handle.context() == Context::allocator || !is_inside_job(handle));
    if ((is_own || is_for_other_job(handle)) && handle.variable(kJobSign)) {
        forget_surrounding_job(handle);
    }
    if (values_.empty()) {
        return {};
    }
    const bool new_job = makes_job(handle);
    const Site site = read_site(arguments_.conf_path);
    const auto wanted = wishes(handle, site);
    const auto line =
        wanted ? checked(handle, new_job, site, *wanted) : Result<std::string>{wanted.error()};
    values_.clear();
    value_bytes_ = 0;
    if (!line) {  // What is wrong with a wish names its own option.
        return wanted ? line.error().within(origin_) : line.error();
    }
    return new_job ? hand_to_job(handle, *line) : hand_to_step(handle, *line);
}

}  // namespace stage
