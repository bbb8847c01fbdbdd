#include "stager/worker/requests/orders.h"

#include "stager/content/part_note.h"
#include "stager/control/message.h"
#include "stager/files/source/source_file.h"
#include "stager/worker/requests/covering.h"
#include "stager/worker/requests/library_orders.h"
#include "transport/base/codec.h"
#include "transport/base/text.h"

#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

namespace stage {
namespace {

/// Leaves room in a stage's result for the paths, too.
constexpr std::size_t kMaxDirectoriesBytes = 12U << 10U;

/// The worker of a push's last attempt, or of an interrupted one, needs less time to end.
constexpr std::chrono::milliseconds kLockTimeout = std::chrono::seconds{10};

/// The rest of `path` below `root`; empty if it is not below it.
std::string_view below(std::string_view path, std::string_view root) {
    const std::string_view bare = root == "/" ? "" : root;
    const bool is_below =
        path.starts_with(bare) && path.size() > bare.size() + 1 && path[bare.size()] == '/';
    return is_below ? path.substr(bare.size() + 1) : std::string_view{};
}

Error outside(const std::string& path, const std::vector<std::string>& roots) {
    Error error{Blame::user, path + ": absolute destinations are not allowed there"};
    return std::move(error).remedy(roots.empty()
                                       ? "use a relative one"
                                       : "this site allows them below " + joined(roots, ", "));
}

/// The user name of the job: this process runs as the job's user.
std::optional<std::string> user_name() {
    std::vector<char> room(std::size_t{64} << 10U);
    passwd entry{};
    passwd* found = nullptr;
    const bool is_known =
        ::getpwuid_r(::geteuid(), &entry, room.data(), room.size(), &found) == 0 &&
        found != nullptr;
    return is_known ? std::optional<std::string>{entry.pw_name} : std::nullopt;
}

}  // namespace

OrderPlaces places_of(const WorkerSetup& setup) {
    return {.stage_dir = setup.stage_dir,
            .dest_subdir = setup.dest_subdir,
            .dest_roots = setup.dest_roots,
            .work_dir = setup.work_dir,
            .has_cache = setup.may_cache,
            .names = {.job_id = setup.key.job_id,
                      .array_job_id = setup.array_job_id,
                      .array_task_id = setup.array_task_id,
                      .node = setup.rank.value(),
                      .user = user_name},
            .traits = traits_of(setup.key),
            .keeps_owners = setup.keeps_owners};
}

Result<Orders> Orders::parse(std::string_view specs, OrderPlaces places) {
    TRY(auto parsed, parse_serialized(specs));
    Orders orders{std::move(parsed), options_in(specs), std::move(places)};
    for (StageSpec& spec : orders.specs_) {
        TRY(auto meant, orders.meant_by(spec));
        orders.notes_.push_back(orders.note_of(spec));
        spec = std::move(meant);
        TRY(spec.is_list ? Result<TargetPlace>{TargetPlace{}} : orders.place_of(spec));
    }
    return orders;
}

/// For the error of a source whose written name is not the one that the error has.
std::string Orders::note_of(const StageSpec& written) const {
    return places_.traits.has_patterns && has_value_pattern(written.source)
               ? "the % in '" + printable(written.source) +
                     "' was expanded, %% is a percent sign"
               : "";
}

/// The name of a file, as meant_by() takes it.
std::string Orders::as_written(const std::string& name) const {
    return places_.traits.has_patterns ? literal_name(name) : name;
}

/// Replaces the patterns by their values; root writes the names of a push literally.
Result<StageSpec> Orders::meant_by(const StageSpec& spec) const {
    if (!places_.traits.has_patterns) {
        return spec;
    }
    const Status sound = check_patterns(spec);
    return sound ? expanded(spec, places_.names) : Result<StageSpec>{sound.error()};
}

Result<TargetPlace> Orders::place_of(const StageSpec& spec) const {
    TRY(const auto destination, destination_of(spec));
    TargetPlace place;
    if (!destination.is_absolute) {
        place.root = places_.stage_dir;
        place.below = places_.dest_subdir.empty()
                          ? destination.path
                          : places_.dest_subdir + '/' + destination.path;
        place.makes_directories = true;
        return place;
    }
    for (const std::string& root : places_.dest_roots) {
        const std::string_view rest = below(destination.path, root);
        if (!rest.empty() && root.size() > place.root.size()) {
            place.root = root;
            place.below = rest;
        }
    }
    if (std::ranges::find(places_.dest_roots, destination.path) != places_.dest_roots.end()) {
        return Error{Blame::user, destination.path + ": is a directory"}.remedy(
            "write " + destination.path + "/ to put the file into it");
    }
    if (place.root.empty()) {
        return outside(destination.path, places_.dest_roots);
    }
    place.makes_directories = places_.traits.makes_directories;
    place.made = places_.made;
    place.refuses_network = true;
    place.guarded_by = places_.traits.is_roots_own ? "PushRoots" : "";
    return place;
}

Result<std::vector<SourceOrder>> Orders::sources() const {
    std::vector<SourceOrder> orders;
    std::vector<PlacedProgram> programs;
    Destinations taken;
    for (std::size_t i = 0; i < specs_.size(); ++i) {
        const auto index = static_cast<std::uint16_t>(i);
        TRY(specs_[i].is_list             ? add_lines(index, taken, orders)
            : specs_[i].is_with_libraries ? add_program(index, taken, orders, programs)
                                          : add_file(index, taken, orders));
    }
    TRY(taken.check_nesting());
    if (!programs.empty()) {
        add_neighbours(programs);
    }
    TRY(check_libraries_agree(programs));
    return orders;
}

/// What of a directory is sent. Slurm writes its own output files of this very job while the
/// job stages the directory, as they usually lie in the one of its submission.
TreeChoice Orders::choice_of(const StageSpec& spec) const {
    TreeChoice choice{.follows_links = spec.is_following,
                      .skips_devices = spec.skips_devices,
                      .excludes = spec.excludes};
    if (places_.traits.has_job && places_.names.job_id != 0) {
        choice.excludes.push_back("slurm-" + std::to_string(places_.names.job_id) + ".out");
    }
    if (places_.traits.has_job && places_.names.array_job_id != 0) {
        const std::string array = std::to_string(places_.names.array_job_id);
        choice.excludes.push_back("slurm-" + array + "_[0-9]*.out");
    }
    return choice;
}

/// Returns false if an equal spec has been taken already.
Result<bool> Orders::take(const StageSpec& spec, Destinations& taken) const {
    const Result<TargetPlace> place = place_of(spec);
    return place ? taken.take(place->path(), spec, {}) : Result<bool>{place.error()};
}

Status Orders::add_file(std::uint16_t index,
                        Destinations& taken,
                        std::vector<SourceOrder>& orders) const {
    const StageSpec& spec = specs_[index];
    const Result<bool> is_new = take(spec, taken);
    if (!is_new || !*is_new) {
        return is_new ? Status{} : Status{is_new.error()};
    }
    orders.push_back({.spec = index,
                      .path = spec.source,
                      .line = {},
                      .is_optional = spec.is_optional,
                      .is_plain = spec.is_unpacked,
                      .where = notes_[index],
                      .choice = choice_of(spec)});
    return {};
}

/// A program and its libraries are sent together: if one of them is missing, none is sent.
Status Orders::add_program(std::uint16_t index,
                           Destinations& taken,
                           std::vector<SourceOrder>& orders,
                           std::vector<PlacedProgram>& programs) const {
    const StageSpec& spec = specs_[index];
    const Result<bool> is_new = take(spec, taken);
    if (!is_new || !*is_new) {
        return is_new ? Status{} : Status{is_new.error()};
    }
    SourceOrder order{
        .spec = index, .path = spec.source, .line = {}, .is_optional = spec.is_optional};
    Result<LibraryClosure> closure =
        library_closure(spec.source, options_.ld_library_path, places_.work_dir);
    Result<std::string> line =
        closure ? program_line(closure->paths) : Result<std::string>{closure.error()};
    if (!line) {
        order.trouble = line.error();
        orders.push_back(std::move(order));
        return spec.is_optional ? Status{} : Status{line.error()};
    }
    order.line = *std::move(line);
    orders.push_back(std::move(order));
    for (const Library& library : closure->sent) {
        orders.push_back({.spec = index,
                          .path = library.path,
                          .line = library_line({.name = library.name,
                                                .is_for_all = !closure->is_program,
                                                .same_as = library.same_as}),
                          .is_optional = spec.is_optional});
    }
    programs.push_back({spec.source, directory_for(spec), *std::move(closure)});
    return {};
}

/// Adds the programs without `libs` that will lie beside others: each of the job's programs
/// must run as it does where it is installed.
void Orders::add_neighbours(std::vector<PlacedProgram>& programs) const {
    for (const StageSpec& spec : specs_) {
        if (spec.is_list || spec.is_with_libraries || spec.is_unpacked) {
            continue;
        }
        Result<LibraryClosure> closure =
            library_closure(spec.source, options_.ld_library_path, places_.work_dir);
        if (closure && closure->is_program) {
            closure->present.insert(
                closure->present.end(), closure->sent.begin(), closure->sent.end());
            closure->sent.clear();
            programs.push_back({spec.source, directory_for(spec), *std::move(closure)});
        }
    }
}

/// The directory in which the spec's file will lie.
std::string Orders::directory_for(const StageSpec& spec) const {
    const Result<TargetPlace> place = place_of(spec);
    const std::string path = place ? place->path() : "";
    return path.substr(0, path.rfind('/') + 1);
}

/// The place of a library, such as "prog_libs/libx.so.1" beside "prog".
Result<TargetPlace> Orders::place_of_library(const StageSpec& program,
                                             const std::string& name) const {
    Result<TargetPlace> place = place_of(program);
    if (place) {
        place->below += std::string{kLibrariesSuffix} + '/' + name;
        place->is_of_libraries = true;
    }
    return place;
}

/// Fails if the entry stands for none: the manifest is another process's.
Result<Orders::Asked> Orders::asked_by(const ManifestEntry& entry) const {
    const bool is_asked_for =
        entry.spec < specs_.size() &&
        (specs_[entry.spec].is_list
             ? !entry.line.empty()
             : entry.line.empty() || specs_[entry.spec].is_with_libraries);
    if (!is_asked_for) {
        return Error{Blame::internal, "the manifest has a file that no spec asks for"};
    }
    const StageSpec& spec = specs_[entry.spec];
    if (!spec.is_list) {
        return Asked{spec, {}};
    }
    const Result<std::vector<StageSpec>> line = parse_serialized(entry.line);
    if (!line || line->size() != 1 || line->front().is_list) {
        return Error{Blame::internal, "the manifest has an invalid line of a list"};
    }
    TRY(auto meant, meant_by(line->front()));
    return Asked{std::move(meant), line_of(spec.source, options_in(entry.line).line)};
}

Result<SinkOrder> Orders::target_of(const ManifestEntry& entry) const {
    TRY(auto asked, asked_by(entry));
    const StageSpec& spec = asked.spec;
    const bool is_of_program = !specs_[entry.spec].is_list && spec.is_with_libraries;
    const auto library = is_of_program ? parse_library_line(entry.line) : std::nullopt;
    TRY(auto place, library ? place_of_library(spec, library->name) : place_of(spec));
    SinkOrder order;
    // The job's own directory belongs to the job: a requeued job may find its own files there.
    order.target.existing = place.refuses_network ? spec.existing : Existing::overwrite;
    order.target.place = std::move(place);
    order.target.is_durable = spec.is_durable;
    order.target.keeps_owners = places_.keeps_owners;
    // (Files in the job's own directory are removed with it.)
    order.target.is_resumable = spec.is_resumable && order.target.place.refuses_network;
    order.target.is_noted =
        places_.has_cache && entry.size >= kPartOfMin && entry.size <= kPartOfMax;
    order.target.lock_timeout = kLockTimeout;
    order.target.archive = spec.is_unpacked ? spec.source : "";
    order.target.umask = options_.umask;
    order.target.skips_devices = spec.skips_devices;
    order.is_optional = spec.is_optional;
    order.is_temporary = spec.is_temporary;
    order.is_library = library.has_value();
    order.is_for_all = library && library->is_for_all;
    order.same_as = library ? library->same_as : "";
    order.is_of_program = is_of_program;
    if (is_of_program) {
        order.needed_paths = parse_program_line(entry.line);
    }
    order.where = std::move(asked.where);
    return order;
}

std::vector<TargetPlace> Orders::places_outside() const {
    std::vector<TargetPlace> places;
    for (const StageSpec& spec : specs_) {
        Result<TargetPlace> place =
            spec.is_list ? Result<TargetPlace>{TargetPlace{}} : place_of(spec);
        if (place && place->refuses_network) {
            places.push_back(*std::move(place));
        }
    }
    return places;
}

std::string Orders::spill_directory() const {
    if (places_.traits.spills_below_itself) {
        return places_.stage_dir;
    }
    const std::vector<TargetPlace> places = places_outside();
    return places.empty()
               ? std::string{}
               : places.front().path().substr(0, places.front().path().rfind('/') + 1);
}

bool Orders::is_any_resumable() const {
    return std::ranges::any_of(specs_, &StageSpec::is_resumable);
}

std::string Orders::base() const {
    return places_.dest_subdir.empty() ? places_.stage_dir
                                       : places_.stage_dir + '/' + places_.dest_subdir;
}

std::vector<std::string> Orders::directories(const FileSink& sink) const {
    std::set<std::string> directories{places_.stage_dir};
    const std::string below_stage = places_.stage_dir + '/';
    for (std::size_t i = 0; sink.manifest() && i < sink.manifest()->entries.size(); ++i) {
        const std::string path = sink.path(i);
        if (!path.empty() && !path.starts_with(below_stage)) {
            directories.insert(path.substr(0, std::max<std::size_t>(1, path.rfind('/'))));
        }
    }
    return covering(std::move(directories), kMaxDirectories, kMaxDirectoriesBytes);
}

std::vector<std::string> Orders::paths(const FileSink& sink) const {
    std::vector<std::string> paths(specs_.size());
    if (!sink.manifest()) {
        return paths;
    }
    for (std::size_t i = 0; i < sink.manifest()->entries.size(); ++i) {
        const ManifestEntry& entry = sink.manifest()->entries[i];
        const bool is_list = specs_[entry.spec].is_list;
        if (is_list || !parse_library_line(entry.line)) {
            paths[entry.spec] = is_list ? base() : sink.path(i);
        }
    }
    return paths;
}

namespace {

/// The maximum size of a list of files, bytes.
constexpr std::uint64_t kMaxListBytes = 64U << 20U;

Result<std::string> read_list(const std::string& path) {
    TRY(auto file, SourceFile::open(path));
    if (file.size() > kMaxListBytes) {
        return Error{Blame::user, path + ": a list of files can have at most 64 MiB"}.remedy(
            "stage the directory of the files instead");
    }
    std::string text(file.size(), '\0');
    const auto room = std::as_writable_bytes(std::span{text.data(), text.size()});
    TRY(file.read(0, room));
    return text;
}

/// A list's flags apply to each of its lines. (It has no other: reason_against().)
StageSpec with_flags_of(const StageSpec& list, StageSpec line) {
    line.is_optional = line.is_optional || list.is_optional;
    return line;
}

bool is_here(const std::string& path) {
    struct stat there {};
    return ::stat(path.c_str(), &there) == 0;
}

}  // namespace

bool Orders::is_there(const std::string& name) const {
    return is_here(name.starts_with('/') ? name : places_.work_dir + '/' + name);
}

/// The file that a line as a whole names: programs such as ls and find write lists, too, and
/// know neither flags nor patterns nor comments.
std::optional<StageSpec> Orders::file_named_by(const ListLine& line) const {
    for (const std::string_view text : {line.whole, line.text}) {
        const std::string name{text};
        const bool is_name =
            name.find('\0') == std::string::npos && name.size() < kMaxPathBytes;
        if (is_name && is_there(name)) {
            return StageSpec{.source = as_written(name)};
        }
    }
    return std::nullopt;
}

Result<StageSpec> Orders::spec_of(const StageSpec& list, const ListLine& line) const {
    const auto named = file_named_by(line);
    Result<StageSpec> spec =
        named ? Result<StageSpec>{*named}
              : parse_spec(line.text, [&](const std::string& name) { return is_there(name); });
    if (!spec) {
        return spec;
    }
    // The name may be that of a file, and the rest a destination and flags.
    if (!named && has_pattern(spec->source) && is_there(spec->source)) {
        spec->source = as_written(spec->source);
    }
    if (spec->is_list) {
        return Error{Blame::user, "a list can't name another list"};
    }
    if (!spec->cluster.empty()) {
        return Error{Blame::user, "a list can't name a file of another cluster"}.remedy(
            "give it a --stage-file of its own");
    }
    if (spec->is_with_libraries) {
        return Error{Blame::user, "libs is not allowed in a list"}.remedy(
            "give the program a --stage option of its own");
    }
    const bool is_relative = !spec->source.starts_with('/');
    if (is_relative && !places_.work_dir.starts_with('/')) {
        return Error{Blame::internal, "the job's working directory is not known"}.remedy(
            "write absolute paths");
    }
    return with_flags_of(
        list,
        made_absolute(*std::move(spec), is_relative ? as_written(places_.work_dir) : "/"));
}

Status Orders::add_lines(std::uint16_t index,
                         Destinations& taken,
                         std::vector<SourceOrder>& orders) const {
    const StageSpec& list = specs_[index];
    TRY(const auto text, read_list(list.source));
    for (const ListLine& line : lines_in(text)) {
        if (line.text.front() == '#' && !file_named_by(line)) {
            continue;
        }
        const std::string where = line_of(list.source, line.number);
        const Result<StageSpec> written = spec_of(list, line);
        const Result<StageSpec> meant = written ? meant_by(*written) : written;
        const Result<TargetPlace> place =
            meant ? place_of(*meant) : Result<TargetPlace>{meant.error()};
        if (!place) {
            return place.error().within(where);
        }
        TRY(const auto is_new, taken.take(place->path(), *meant, where));
        if (!is_new) {
            continue;
        }
        Result<std::string> serial =
            serialize(std::array{*written}, {.line = static_cast<std::uint32_t>(line.number)});
        if (!serial) {
            return std::move(serial).error().within(where);
        }
        const std::string note = note_of(*written);
        orders.push_back({.spec = index,
                          .path = meant->source,
                          .line = *std::move(serial),
                          .is_optional = meant->is_optional,
                          .is_plain = meant->is_unpacked,
                          .where = note.empty() ? where : where + ", " + note,
                          .choice = choice_of(*meant)});
    }
    return {};
}

}  // namespace stage
