#include "spank/submit/submit_side.h"

#include "spank/host/names.h"
#include "spank/submit/batch_script.h"
#include "spank/submit/destination_check.h"
#include "spank/submit/private_tmp.h"
#include "spank/submit/source_check.h"
#include "spank/submit/stage_timeout.h"
#include "spank/submit/ticket_check.h"
#include "spank/submit/wildcards.h"
#include "stager/spec/amount.h"
#include "stager/spec/destination.h"
#include "stager/spec/list_lines.h"
#include "stager/spec/name_pattern.h"
#include "stager/spec/spec_list.h"
#include "transport/base/invariant.h"
#include "transport/base/written_value.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <ctime>

namespace stage {
namespace {

constexpr std::string_view kOption = "--stage-file";

/// Whether tasks run in a container that is created before them and may be made of staged
/// files: pyxis' --container-image and others.
bool has_container(const SpankHandle& handle, std::span<const std::string> own) {
    return std::ranges::any_of(
               own, [](const std::string& word) { return word.starts_with("--conta"); }) ||
           handle.variable(kInheritedContainer) || handle.variable("SLURM_CONTAINER");
}

/// The bundle of Slurm's own --container=, absolute, if one is named.
std::optional<std::string> bundle_of(const SpankHandle& handle,
                                     std::span<const std::string> own) {
    auto bundle = argument_value(own, "--container", "--container");
    bundle = bundle ? bundle : handle.variable("SLURM_CONTAINER");
    if (!bundle || bundle->empty() || bundle->starts_with('/')) {
        return bundle;
    }
    return handle.working_directory() + '/' + *bundle;
}

/// A step's files are staged after Slurm has opened the bundle of its container.
Status check_bundle(const std::string& bundle, const std::vector<StageSpec>& specs) {
    for (const StageSpec& spec : specs) {
        const auto place = destination_of(spec);
        // (With a flag for what exists, an earlier copy may be there.)
        const bool is_it = place && place->is_absolute && spec.existing == Existing::refuse &&
                           (bundle + '/').starts_with(place->path + '/');
        if (is_it) {
            return Error{Blame::user,
                         printable(place->path) +
                             ": Slurm opens the bundle of a step's --container= before it "
                             "stages the step's files"}
                .remedy(
                    "give this --stage-file to the job (sbatch, salloc or an srun of its "
                    "own), or to an earlier step, without temp");
        }
    }
    return {};
}

/// The working directory of a step's tasks, to which relative names in its lists refer.
std::string step_directory(const SpankHandle& handle, std::span<const std::string> own) {
    auto wanted = argument_value(own, "--chdir", "--ch", 'D');
    wanted = wanted ? wanted : handle.variable("SLURM_WORKING_DIR");
    const std::string directory = handle.working_directory();
    if (!wanted || wanted->empty()) {
        return directory;
    }
    return wanted->starts_with('/') ? *wanted : directory + '/' + *wanted;
}

/// Expands ~ as a shell does; shells do not within --stage-file=~/input.
void expand_home(std::string& path, const std::string& home) {
    if (home.starts_with('/') && (path == "~" || path.starts_with("~/"))) {
        path.replace(0, 1, home);
    }
}

/// The job id in this client's environment.
std::optional<std::string> surrounding_job(const SpankHandle& handle) {
    auto job = handle.variable("SLURM_JOB_ID");
    return job ? job : handle.variable("SLURM_JOBID");
}

std::optional<std::string> named_job(std::span<const std::string> own) {
    return argument_value(own, "--jobid", "--jobi");
}

/// Whether this client creates a job, which will have a prolog. Only srun may not.
bool makes_job(const SpankHandle& handle, std::span<const std::string> own) {
    return handle.context() == Context::allocator ||
           (!surrounding_job(handle) && !named_job(own));
}

/// Whether this srun, which creates no job, starts a step from outside of the step's job: its
/// environment then does not describe that job's files. (A job's own environment has more than
/// a number.)
bool is_outside(const SpankHandle& handle, std::span<const std::string> own) {
    const auto around = surrounding_job(handle);
    const auto named = named_job(own);
    const auto other = handle.variable("SLURM_JOBID");
    const bool is_other =
        !around || (named && *named != *around) || (other && *other != *around);
    return is_other || (!handle.variable(kJobSign) && !handle.variable("SLURM_JOB_NODELIST"));
}

/// The cluster in the script, if one is named. (Of a heterogeneous job's components only the
/// last has a script: the first word after the options that is one.)
std::optional<std::string> cluster_in_script(const SpankHandle& handle,
                                             std::span<const std::string> behind) {
    for (const std::string& word : behind) {
        const bool may_be_script = word != ":" && !word.starts_with('-');
        auto named = may_be_script ? cluster_of_script(word, handle.working_directory())
                                   : std::optional<std::string>{};
        if (named || behind.front() != ":") {
            return named;
        }
    }
    return std::nullopt;
}

/// The cluster that the user named by -M, on the command line or in the script, unless it is
/// this one.
std::optional<std::string> other_cluster(const SpankHandle& handle,
                                         const ClientWords& words,
                                         const std::optional<ClusterFacts>& facts) {
    auto named = argument_value(words.own, "--clusters", "--cluster", 'M');
    for (const char* const name : {"SBATCH_CLUSTERS", "SLURM_CLUSTERS"}) {
        if (!named) {
            named = handle.variable(name);
        }
    }
    if (!named && handle.client() == "sbatch") {
        named = cluster_in_script(handle, words.behind);
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

/// The umask that Slurm gives the job's tasks: the variable's, if it is set.
std::uint16_t umask_of(const SpankHandle& handle) {
    const auto text = handle.variable("SLURM_UMASK");
    const auto mask = text ? parse_umask(*text) : std::nullopt;
    return mask ? *mask : process_umask().value_or(kUsualUmask);
}

/// Checks a source at submission: no message, a notice, or an error.
Status check_on_submit_host(SpankHandle& handle, const StageSpec& spec) {
    if (const Status sound = check_variables(spec); !sound) {
        return sound;
    }
    if (spec.is_late || !spec.cluster.empty()) {
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

constexpr std::array kPublished{kStageDir, kStageFiles, kJobStatus, kStepDir};

/// True if any variable of a job's files is left in the environment.
bool speaks_of_files(const SpankHandle& handle) {
    return handle.variable(kJobSign) || std::ranges::any_of(kPublished, [&](const char* name) {
               return handle.variable(name).has_value();
           });
}

/// Removes the variables that describe the surrounding job's files: on a node without the
/// plugin nothing would replace them in the new job.
void forget_surrounding_job(SpankHandle& handle) {
    for (const char* const name : kPublished) {
        handle.unset_variable(name);
    }
}

Status check_site(const Site& site, bool wants_drop) {
    if (!site.is_enabled) {
        return Error{Blame::node, "stagecast is switched off at this site"}.remedy(
            "leave the option out, or ask the administrator (Enabled in this host's "
            "stagecast.conf)");
    }
    if (wants_drop && !site.may_drop) {
        return Error{Blame::user, "--stage-no-kill is not allowed at this site"}.remedy(
            "leave it out, or ask the administrator (OnNodeFault=drop in this host's "
            "stagecast.conf)");
    }
    return {};
}

/// The user's LD_LIBRARY_PATH, by which a program finds its libraries.
Result<std::string> library_path(const SpankHandle& handle) {
    const std::string path = handle.variable("LD_LIBRARY_PATH").value_or("");
    if (path.size() > kMaxLibraryPathBytes) {
        return Error{Blame::user,
                     "LD_LIBRARY_PATH has " + std::to_string(path.size()) +
                         " bytes, and libs takes " + std::to_string(kMaxLibraryPathBytes)}
            .remedy("shorten it, or unset it where the program finds its libraries");
    }
    return path;
}

/// Checks the sizes that are known here: a node would refuse the files after the job's days in
/// the queue.
Status check_bytes(const Site& site, const std::vector<StageSpec>& specs) {
    std::uint64_t bytes = 0;
    for (const StageSpec& spec : specs) {
        bytes += site.max_bytes > 0 && spec.cluster.empty()
                     ? known_bytes(spec)
                     : 0;  // Each is a question to the disk.
    }
    if (bytes <= site.max_bytes) {
        return {};
    }
    const bool is_near = binary_amount_text(bytes) == binary_amount_text(site.max_bytes);
    const auto text = [is_near](std::uint64_t amount) {
        return is_near ? std::to_string(amount) + " bytes" : binary_amount_text(amount);
    };
    return Error{
        Blame::user,
        "the files to stage have " + text(bytes) + ", this site allows " + text(site.max_bytes)}
        .remedy(
            "stage less, or ask the administrator (MaxBytes in this host's "
            "stagecast.conf)");
}

/// Checks what only this host and Slurm's configuration show; `facts`: of a new job.
Status check_here(SpankHandle& handle,
                  const Site& site,
                  const std::vector<StageSpec>& specs,
                  const std::optional<ClusterFacts>& facts) {
    if (facts) {
        if (const Status flags = check_prolog_flags(*facts); !flags) {
            return flags;
        }
    }
    for (const StageSpec& spec : specs) {
        if (const Status source = check_on_submit_host(handle, spec); !source) {
            return source;
        }
        if (const Status seen = facts && facts->private_tmp && spec.cluster.empty()
                                    ? check_private_tmp(spec)
                                    : Status{};
            !seen) {
            return seen;
        }
        TRY(check_destination(spec, site.dest_roots));
    }
    return check_bytes(site, specs);
}

}  // namespace

void SubmitSide::on_option(std::string_view value, bool inherited) {
    // An inherited value comes first and once: Slurm calls it before the command line's.
    if (std::exchange(is_first_value_, false) && inherited) {
        return;
    }
    // Beyond the limits enough is kept for serialize() to refuse it with a message.
    if (values_.size() <= kMaxSpecs && value_bytes_ <= 4 * kMaxSpecsBytes) {
        values_.emplace_back(value.substr(0, 4 * kMaxSpecsBytes));
        value_bytes_ += value.size();
    }
}

/// Without the option: reads the client's variable, one spec per line.
void SubmitSide::take_defaults(const SpankHandle& handle, std::span<const std::string> own) {
    origin_ = kOption;
    if (!values_.empty()) {
        return;
    }
    const bool is_srun = handle.context() == Context::local;
    const char* const name = is_srun                       ? kSrunDefault
                             : handle.client() == "salloc" ? kSallocDefault
                                                           : kSbatchDefault;
    // (The step by which salloc starts its shell is never meant to stage files.)
    const bool is_shell = is_srun && argument_value(own, "--interactive", "--inte").has_value();
    const auto text = is_shell ? std::nullopt : handle.variable(name);
    for (const ListLine& line : lines_in(text ? std::string_view{*text} : std::string_view{})) {
        is_first_value_ = false;
        on_option(line.text, false);
        origin_ = name;
    }
}

Result<StageOptions> SubmitSide::options_of(const SpankHandle& handle, const Site& site) const {
    const bool is_reported =
        site.reports && handle.client() == "sbatch" &&
        read_flag(handle.variable(kSbatchReport).value_or("yes")).value_or(true);
    StageOptions options{.timeout_s = 0,
                         .is_verbose = is_verbose_ || is_reported,
                         .is_no_kill = is_no_kill_,
                         .umask = umask_of(handle)};
    if (timeout_.empty()) {
        return options;
    }
    TRY(const auto wanted, read_stage_timeout(timeout_));
    if (wanted > site.stage_timeout) {
        const auto most = std::chrono::duration_cast<std::chrono::seconds>(site.stage_timeout);
        return Error{
            Blame::user,
            "--stage-timeout=" + printable(timeout_) + " is longer than this site allows"}
            .remedy("ask for at most " + std::to_string(most.count()) + "s");
    }
    options.timeout_s =
        static_cast<std::uint32_t>(std::chrono::ceil<std::chrono::seconds>(wanted).count());
    return options;
}

/// The collected specs with absolute paths.
Result<std::vector<StageSpec>> SubmitSide::specs(const SpankHandle& handle) const {
    const std::string directory = handle.working_directory();
    const std::string home = handle.variable("HOME").value_or("");
    std::vector<StageSpec> specs;
    const auto is_there = [&](std::string name) {
        expand_home(name, home);
        return is_file_or_directory(name.starts_with('/') ? name : directory + '/' + name);
    };
    for (const std::string& value : values_) {
        auto spec = parse_spec(value, is_there);
        const Status sound = spec ? check_patterns(*spec) : Status{};
        if (!spec || !sound) {
            return spec ? sound.error() : spec.error();
        }
        expand_home(spec->destination, literal_name(home));
        if (!spec->cluster.empty()) {
            specs.push_back(*std::move(spec));
            continue;
        }
        const std::string written = spec->source;
        expand_home(spec->source, literal_name(home));
        if (!spec->source.starts_with('/') && directory.empty()) {
            return Error{Blame::user, "the working directory does not exist any more"}.remedy(
                "change to another one, or write the whole path");
        }
        TRY(auto all,
            expand_wildcards(made_absolute(*std::move(spec),
                                           directory.empty() ? "/" : literal_name(directory)),
                             written));
        specs.insert(specs.end(),
                     std::make_move_iterator(all.begin()),
                     std::make_move_iterator(all.end()));
    }
    return specs;
}

/// Where the files are, and the right to read them there.
Status SubmitSide::take_cluster(const std::string& own,
                                const std::vector<StageSpec>& specs,
                                StageOptions& wanted) const {
    TRY(wanted.cluster, cluster_of_all(specs));
    if (wanted.cluster.empty()) {
        return {};
    }
    wanted.ticket = ticket_;
    return check_ticket({.text = ticket_,
                         .cluster = own,
                         .uid = ::getuid(),
                         .now = static_cast<std::uint64_t>(::time(nullptr))},
                        specs);
}

/// The specs and options as a line for the job, once everything that can be checked on this
/// host has been.
Result<std::string> SubmitSide::checked(SpankHandle& handle,
                                        const ClientWords& words,
                                        const Site& site,
                                        StageOptions wanted) {
    const bool new_job = makes_job(handle, words.own);
    TRY(check_site(site, new_job && wanted.is_no_kill));
    TRY(const auto specs, this->specs(handle));
    const auto facts = new_job ? handle.cluster_facts() : std::nullopt;
    const auto elsewhere = new_job ? other_cluster(handle, words, facts) : std::nullopt;
    TRY(take_cluster(elsewhere ? "" : site.cluster_name, specs, wanted));
    if (std::ranges::any_of(specs, &StageSpec::is_with_libraries)) {
        TRY(const auto path, library_path(handle));
        wanted.ld_library_path = path;
    }
    if (const auto bundle = new_job ? std::nullopt : bundle_of(handle, words.own)) {
        TRY(check_bundle(*bundle, specs));
    }
    wanted.has_container = !new_job && has_container(handle, words.own);
    if (!new_job && std::ranges::any_of(specs, &StageSpec::is_list)) {
        wanted.work_dir = step_directory(handle, words.own);
    }
    auto line = serialize(specs, wanted);
    if (!line) {
        return line;
    }
    if (elsewhere) {
        handle.say("--stage-file: paths are not checked here for cluster " +
                   printable(*elsewhere));
        return line;
    }
    TRY(check_here(handle, site, specs, facts));
    return line;
}

Status SubmitSide::hand_to_job(SpankHandle& handle, const std::string& line) {
    invariant(!line.empty() && line != kNothing && line != kSomething,
              "a job with files is handed their specs");
    if (!handle.hand_to_prolog(kHandedName, line)) {
        return Error{Blame::internal, "Slurm does not take the list of files for the prolog"};
    }
    if (handle.context() == Context::local) {
        handle.set_variable(kJobSign, kSomething);
    }
    handle.unset_variable(kStepSpecs);
    forget_surrounding_job(handle);
    return {};
}

Status SubmitSide::hand_to_step(SpankHandle& handle, const std::string& line) {
    // All components of a step share one environment (measured), so the specs would belong to
    // all of them.
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
    options_.on_parsed(handle.options_end());
    const std::vector<std::string> line_words = handle.command_line();
    const ClientWords words =
        options_.of(line_words, /*is_srun=*/handle.context() == Context::local);
    take_defaults(handle, words.own);
    is_first_value_ = true;
    if (has_step_specs_ && component_ > 1) {
        return hand_to_step(handle, {});
    }
    const bool new_job = makes_job(handle, words.own);
    if (!new_job && is_outside(handle, words.own)) {
        forget_surrounding_job(handle);
        handle.set_variable(kJobSign, kAsk);
    } else if (new_job && values_.empty() && speaks_of_files(handle)) {
        // A job that is created inside of a job with files must not wait for files it never
        // requested.
        forget_surrounding_job(handle);
        handle.set_variable(kJobSign, kNothing);
        static_cast<void>(handle.hand_to_prolog(kHandedName, kNothing));
    }
    if (values_.empty()) {
        return {};
    }
    const Site site = read_site(arguments_.conf_path);
    const auto wanted = options_of(handle, site);
    const auto line =
        wanted ? checked(handle, words, site, *wanted) : Result<std::string>{wanted.error()};
    values_.clear();
    value_bytes_ = 0;
    if (!line) {  // An error of an option names the option itself.
        return wanted ? line.error().within(origin_) : line.error();
    }
    return new_job ? hand_to_job(handle, *line) : hand_to_step(handle, *line);
}

}  // namespace stage
