#include "stager/spec/destination.h"

#include "stager/control/message.h"

#include <algorithm>
#include <array>
#include <vector>

namespace stage {
namespace {

constexpr std::size_t kMaxComponentBytes = 255;  // NAME_MAX

std::string in_quotes(std::string_view text) {
    return "'" + printable(text) + "'";
}

/// Splits a path at slashes, without empty parts and ".".
std::vector<std::string_view> components(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t end = path.find('/');
        const std::string_view part = path.substr(0, end);
        path.remove_prefix(end == std::string_view::npos ? path.size() : end + 1);
        if (!part.empty() && part != ".") {
            parts.push_back(part);
        }
    }
    return parts;
}

std::string joined(const std::vector<std::string_view>& parts, bool is_absolute) {
    std::string path;
    for (const std::string_view part : parts) {
        if (is_absolute || !path.empty()) {
            path += '/';
        }
        path += part;
    }
    return path;
}

bool is_step_directory(std::string_view name) {
    return name.starts_with(kStepPrefix) && name.size() > kStepPrefix.size() &&
           std::ranges::all_of(name.substr(kStepPrefix.size()),
                               [](char c) { return c >= '0' && c <= '9'; });
}

/// True if DST names a directory ("dir/"): the file then has the source's name.
bool names_a_directory(std::string_view destination) {
    return destination.empty() || destination.ends_with('/') || destination == "." ||
           destination.ends_with("/.");
}

Result<std::vector<std::string_view>> parts_of(const StageSpec& spec) {
    std::vector<std::string_view> parts = components(spec.destination);
    if (std::ranges::find(parts, "..") != parts.end()) {
        return Error{Blame::user,
                     "the destination " + in_quotes(spec.destination) + " goes up by '..'"}
            .remedy("write it without '..'");
    }
    if (names_a_directory(spec.destination)) {
        const std::vector<std::string_view> source = components(spec.source);
        if (source.empty() || source.back() == "..") {
            return Error{Blame::user,
                         in_quotes(spec.source) + " has no name to be staged under"}
                .remedy("give it one, as in SRC:DST");
        }
        parts.push_back(spec.is_unpacked ? archive_stem(source.back()) : source.back());
    }
    for (const std::string_view part : parts) {
        if (part.size() > kMaxComponentBytes) {
            return Error{Blame::user,
                         "the destination's name " + in_quotes(part.substr(0, 40)) +
                             "... is longer than 255 bytes"}
                .remedy("choose a shorter one");
        }
    }
    return parts;
}

/// A spec and its destination.
struct Claim {
    Destination place;
    const StageSpec* spec;
};

bool lies_below(const Destination& inner, const Destination& outer) {
    return inner.is_absolute == outer.is_absolute && inner.path.size() > outer.path.size() &&
           inner.path.starts_with(outer.path) && inner.path[outer.path.size()] == '/';
}

Error conflict(const Claim& one, const Claim& other, std::string_view how) {
    return Error{Blame::user,
                 in_quotes(one.spec->source) + " and " + in_quotes(other.spec->source) +
                     std::string{how} + in_quotes(one.place.path)}
        .remedy("give one of them another destination, as in SRC:DST");
}

/// Compares suffixes, ignoring case.
bool ends_as(std::string_view name, std::string_view ending) {
    const auto lower = [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    };
    return name.size() >= ending.size() &&
           std::ranges::equal(
               name.substr(name.size() - ending.size()), ending, {}, lower, lower);
}

}  // namespace

std::string_view archive_stem(std::string_view name) {
    constexpr std::array<std::string_view, 5> kPackings{".gz", ".zst", ".xz", ".bz2", ".lz4"};
    constexpr std::array<std::string_view, 8> kEndings{
        ".tar", ".tgz", ".tzst", ".txz", ".tbz", ".tbz2", ".zip", ".tlz4"};
    std::string_view stem = name;
    for (const std::string_view packing : kPackings) {
        if (ends_as(stem, packing) &&
            ends_as(stem.substr(0, stem.size() - packing.size()), ".tar")) {
            stem.remove_suffix(packing.size());
            break;
        }
    }
    for (const std::string_view ending : kEndings) {
        if (ends_as(stem, ending)) {
            stem.remove_suffix(ending.size());
            break;
        }
    }
    return stem.empty() || stem == "." || stem == ".." ? name : stem;
}

Result<Destination> destination_of(const StageSpec& spec) {
    if (spec.is_list) {
        return Destination{};
    }
    TRY(const auto parts, parts_of(spec));
    const bool is_absolute = spec.destination.starts_with('/');
    const std::string_view first = parts.front();
    if (!is_absolute && (first == kReservedName || is_step_directory(first))) {
        return Error{Blame::user,
                     in_quotes(first) + " in the stage directory is stagecast's own"}
            .remedy("choose another destination, as in SRC:DST");
    }
    Destination destination{.is_absolute = is_absolute, .path = joined(parts, is_absolute)};
    if (destination.path.size() >= kMaxPathBytes) {
        return Error{Blame::user, "the destination is longer than 4095 bytes"}.remedy(
            "choose a shorter one");
    }
    return destination;
}

std::string placed(const Destination& destination, std::string_view stage_dir) {
    if (destination.is_absolute) {
        return destination.path;
    }
    std::string path{stage_dir};
    path += '/';
    return path += destination.path;
}

bool are_equal(const StageSpec& one, const StageSpec& other) {
    StageSpec alike = other;
    alike.source = one.source;
    alike.destination = one.destination;
    alike.is_late = one.is_late;
    const auto place = destination_of(one);
    const auto other_place = destination_of(other);
    return alike == one && components(one.source) == components(other.source) && place &&
           other_place && *place == *other_place;
}

Status check_distinct(std::span<const StageSpec> specs) {
    std::vector<Claim> claims;
    for (const StageSpec& spec : specs) {
        TRY(auto place, destination_of(spec));
        if (!spec.is_list) {
            claims.push_back({.place = std::move(place), .spec = &spec});
        }
    }
    for (auto one = claims.begin(); one != claims.end(); ++one) {
        const auto same = std::find_if(one + 1, claims.end(), [&](const Claim& other) {
            return other.place == one->place;
        });
        if (same != claims.end()) {
            return conflict(*one, *same, " have one destination, ");
        }
        const auto below = std::ranges::find_if(
            claims, [&](const Claim& other) { return lies_below(other.place, one->place); });
        if (below != claims.end()) {
            return conflict(*one, *below, " conflict: one is inside of the other, ");
        }
    }
    return {};
}

}  // namespace stage
