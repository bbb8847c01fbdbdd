// What does an @LIST ask for? The part of Orders that reads the lists.
#include "stager/files/source_file.h"
#include "stager/worker/orders.h"

#include <sys/stat.h>

#include <array>

namespace stage {
namespace {

/// A list longer than this is not a list of files for one job, bytes.
constexpr std::uint64_t kMaxListBytes = 64U << 20U;

Result<std::string> read_list(const std::string& path) {
    Result<SourceFile> file = SourceFile::open(path);
    if (!file) {
        return std::move(file).error();
    }
    if (file->size() > kMaxListBytes) {
        return Error{Blame::user, path + ": a list of files has at most 64 MiB"}.remedy(
            "stage their directory");
    }
    std::string text(file->size(), '\0');
    const auto room = std::as_writable_bytes(std::span{text.data(), text.size()});
    if (Status done = file->read(0, room); !done) {
        return std::move(done).error();
    }
    return text;
}

/// A list's flags hold for each of its lines.
StageSpec with_flags_of(const StageSpec& list, StageSpec line) {
    line.existing = line.existing == Existing::refuse ? list.existing : line.existing;
    line.is_optional = line.is_optional || list.is_optional;
    line.is_temporary = line.is_temporary || list.is_temporary;
    line.is_durable = line.is_durable || list.is_durable;
    return line;
}

bool is_here(const std::string& path) {
    struct stat there {};
    return ::stat(path.c_str(), &there) == 0;
}

}  // namespace

/// A name that has blanks at its ends, or a colon, is taken as it is where there is such a
/// file.
Result<StageSpec> Orders::spec_of(const StageSpec& list, const ListLine& line) const {
    const auto is_there = [&](const std::string& name) {
        return is_here(name.starts_with('/') ? name : places_.work_dir + '/' + name);
    };
    Result<StageSpec> spec = parse_spec(line.text, is_there);
    if (line.whole != line.text) {
        const Result<StageSpec> whole = parse_spec(line.whole);
        if (whole && spec && whole->source != spec->source && is_there(whole->source)) {
            spec->source = whole->source;
        }
    }
    if (!spec) {
        return spec;
    }
    if (spec->is_list) {
        return Error{Blame::user, "a list can't name another list"};
    }
    if (spec->is_with_libraries) {
        return Error{Blame::user, "libs can't stand in a list"}.remedy(
            "give the program an option of its own");
    }
    const bool is_relative = !spec->source.starts_with('/');
    if (is_relative && !places_.work_dir.starts_with('/')) {
        return Error{Blame::internal, "the job's working directory is not known"}.remedy(
            "write whole paths");
    }
    return with_flags_of(list,
                         made_absolute(*std::move(spec), is_relative ? places_.work_dir : "/"));
}

Status Orders::add_lines(std::uint16_t index,
                         Destinations& taken,
                         std::vector<SourceOrder>& orders) const {
    const StageSpec& list = specs_[index];
    const Result<std::string> text = read_list(list.source);
    if (!text) {
        return text.error();
    }
    for (const ListLine& line : lines_in(*text)) {
        if (line.text.front() == '#') {
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
        const Result<bool> is_new = taken.take(place->path(), *meant, where);
        if (!is_new) {
            return is_new.error();
        }
        if (!*is_new) {
            continue;
        }
        Result<std::string> serial =
            serialize(std::array{*written}, {.line = static_cast<std::uint32_t>(line.number)});
        if (!serial) {
            return std::move(serial).error().within(where);
        }
        orders.push_back({.spec = index,
                          .path = meant->source,
                          .line = *std::move(serial),
                          .is_optional = meant->is_optional,
                          .is_plain = meant->is_unpacked,
                          .where = where});
    }
    return {};
}

}  // namespace stage
