#include "stager/spec/stage_spec.h"

#include "stager/control/message.h"
#include "stager/spec/destination.h"
#include "stager/spec/exclusion.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace stage {
namespace {

constexpr std::size_t kNowhere = std::string_view::npos;
constexpr std::string_view kExclude = "exclude=";

/// The part of a user's text that is shown in an error, bytes.
constexpr std::size_t kQuoteBytes = 160;

/// "`a:b:c:d`, character 6: `reason`"
Error mistake(std::string_view text, std::size_t at, std::string_view reason) {
    std::string sentence = "'" + printable(text.substr(0, kQuoteBytes));
    sentence += text.size() > kQuoteBytes ? "...'" : "'";
    if (at != kNowhere) {
        sentence += ", character " + std::to_string(at + 1);
    }
    sentence += ": ";
    sentence += reason;
    return {Blame::user, std::move(sentence)};
}

/// A field of a spec, unescaped, and its start.
struct Field {
    std::string text;
    std::size_t at = 0;
};

/// Splits at colons that no backslash precedes.
std::vector<Field> split_fields(std::string_view text) {
    std::vector<Field> fields(1);
    for (std::size_t i = 0; i < text.size(); ++i) {
        const bool escapes = text[i] == '\\' && i + 1 < text.size() &&
                             (text[i + 1] == ':' || text[i + 1] == '\\');
        if (escapes) {
            fields.back().text += text[++i];
        } else if (text[i] == ':') {
            fields.push_back({.text = {}, .at = i + 1});
        } else {
            fields.back().text += text[i];
        }
    }
    return fields;
}

/// The known URL schemes; any other word before "://" is part of a file's name.
bool is_known_scheme(std::string_view scheme) {
    constexpr std::array<std::string_view, 23> kSchemes{
        "abfs", "az",   "cluster", "data",   "dav",  "davs", "docker", "file",
        "ftp",  "ftps", "gs",      "gsiftp", "hdfs", "http", "https",  "oras",
        "oci",  "root", "rsync",   "s3",     "scp",  "sftp", "ssh"};
    std::string lower{scheme};
    std::ranges::transform(lower, lower.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return std::ranges::find(kSchemes, lower) != kSchemes.end();
}

/// "https" of "https://host/file", or nothing.
std::string_view scheme_of(std::string_view text) {
    const std::size_t end = text.find("://");
    if (end == kNowhere || end == 0) {
        return {};
    }
    const std::string_view scheme = text.substr(0, end);
    const auto is_letter = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    };
    const bool well_formed =
        is_letter(scheme.front()) && std::ranges::all_of(scheme, [&](char c) {
            return is_letter(c) || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        });
    return well_formed && is_known_scheme(scheme) ? scheme : std::string_view{};
}

/// Escapes a text so that split_fields() makes it one field.
std::string escaped(std::string_view name) {
    std::string text;
    for (const char c : name) {
        if (c == ':' || c == '\\') {
            text += '\\';
        }
        text += c;
    }
    return text;
}

/// Sets a flag. Returns why it is invalid, or an empty text.
std::string_view apply_flag(StageSpec& spec, std::string_view flag) {
    struct Policy {
        std::string_view name;
        Existing existing;
    };
    constexpr std::array<Policy, 3> kPolicies{Policy{"keep", Existing::keep},
                                              Policy{"newer", Existing::newer},
                                              Policy{"overwrite", Existing::overwrite}};
    for (const Policy& policy : kPolicies) {
        if (flag != policy.name) {
            continue;
        }
        if (spec.existing != Existing::refuse && spec.existing != policy.existing) {
            return "keep, newer and overwrite exclude each other; write one of them";
        }
        spec.existing = policy.existing;
        return {};
    }
    for (const SpecSwitch& one : kSpecSwitches) {
        if (!one.word.empty() && flag == one.word) {
            spec.*one.member = true;
            return {};
        }
    }
    if (flag.starts_with(kExclude)) {
        spec.excludes.emplace_back(flag.substr(kExclude.size()));
        return spec.excludes.size() <= kMaxExclusions
                   ? reason_against_exclusion(spec.excludes.back())
                   : "there are more than 64 exclude=";
    }
    if (flag.empty()) {
        return "a flag is missing; write one, or end the spec before the colon";
    }
    return "no such flag; there are keep, newer, overwrite, optional, temp, durable, late, "
           "extract, libs, follow, no-devices and exclude=PATTERN";
}

/// The end of the flag in front: a plus that is not part of a pattern.
std::size_t end_of_flag(std::string_view flags) {
    std::size_t plus = flags.find('+');
    while (flags.starts_with(kExclude) && plus != kNowhere && flags[plus - 1] == '\\') {
        plus = flags.find('+', plus + 1);
    }
    return plus;
}

Status apply_flags(StageSpec& spec, std::string_view text, const Field& flags) {
    std::string_view rest = flags.text;
    std::size_t at = flags.at;
    while (true) {
        const std::size_t plus = end_of_flag(rest);
        const std::string_view reason = apply_flag(spec, rest.substr(0, plus));
        if (!reason.empty()) {
            return mistake(text, at, reason);
        }
        if (plus == kNowhere) {
            return {};
        }
        rest.remove_prefix(plus + 1);
        at += plus + 1;
    }
}

}  // namespace

std::string_view reason_against(const StageSpec& spec) {
    if (spec.source.empty()) {
        return spec.is_list ? "the list's name is missing after the @"
                            : "the source is missing; write SRC[:DST[:FLAGS]]";
    }
    if (spec.source.size() >= kMaxPathBytes || spec.destination.size() >= kMaxPathBytes) {
        return "a path is longer than 4095 bytes";
    }
    if (spec.source.find('\0') != kNowhere || spec.destination.find('\0') != kNowhere) {
        return "a path holds a zero byte";
    }
    const bool is_of_tree = spec.is_following || !spec.excludes.empty();
    const StageSpec bare_list{.source = spec.source,
                              .is_list = true,
                              .is_optional = spec.is_optional,
                              .is_late = spec.is_late};
    if (spec.is_list && spec != bare_list) {
        return "a list takes no destination and only the flags optional and late; give the "
               "others to its lines";
    }
    if (spec.is_unpacked && spec.is_with_libraries) {
        return "extract and libs exclude each other; an archive needs no libraries";
    }
    if ((is_of_tree && spec.is_unpacked) ||
        ((is_of_tree || spec.skips_devices) && spec.is_with_libraries)) {
        return "exclude=, follow and no-devices are for directories, and of these only "
               "no-devices for extract";
    }
    if (spec.excludes.size() > kMaxExclusions) {
        return "there are more than 64 exclude=";
    }
    for (const std::string& pattern : spec.excludes) {
        if (const std::string_view reason = reason_against_exclusion(pattern);
            !reason.empty()) {
            return reason;
        }
    }
    return {};
}

namespace {

constexpr std::string_view kClusterScheme = "cluster://";
constexpr std::string_view kHowToWriteCluster =
    "write cluster://CLUSTER/PATH for a file of another cluster";

/// The source of a spec that begins with kClusterScheme is absolute, and no name is expanded:
/// nothing here knows that cluster's disks.
std::string_view reason_against_remote(const StageSpec& spec) {
    if (!is_cluster_name(spec.cluster)) {
        return kHowToWriteCluster;
    }
    if (!is_plain_path(spec.source)) {
        return "write the path in the other cluster without //, . and .., and more than the /";
    }
    if (spec.source.find_first_of("%*?") != kNowhere) {
        return "the name of another cluster's file can't have %, * or ?: nothing here can "
               "expand them; name the file, or its directory";
    }
    return spec.is_with_libraries ? "libs is for programs of this cluster" : "";
}

Result<StageSpec> parse_remote(std::string_view text) {
    const std::string_view rest = text.substr(kClusterScheme.size());
    const std::size_t slash = rest.find('/');
    if (slash == kNowhere) {
        return mistake(text, kNowhere, kHowToWriteCluster);
    }
    TRY(auto spec, parse_spec(rest.substr(slash)));
    spec.cluster = rest.substr(0, slash);
    if (spec.source.size() > 2 && spec.source.ends_with('/')) {
        spec.source.pop_back();  // "dir/" is the directory, as it is here.
    }
    const std::string_view reason = reason_against_remote(spec);
    return reason.empty() ? Result<StageSpec>{std::move(spec)}
                          : mistake(text, kNowhere, reason);
}

}  // namespace

bool is_cluster_name(std::string_view name) {
    return !name.empty() && name.size() <= kMaxClusterNameBytes &&
           std::ranges::all_of(name, [](char c) {
               return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                      (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
           });
}

bool is_plain_path(std::string_view path) {
    if (path.size() < 2 || path.size() >= kMaxPathBytes || path.find('\0') != kNowhere) {
        return false;
    }
    while (!path.empty()) {
        if (path.front() != '/') {
            return false;
        }
        path.remove_prefix(1);
        const std::string_view part = path.substr(0, path.find('/'));
        if (part.empty() || part == "." || part == "..") {
            return false;
        }
        path.remove_prefix(part.size());
    }
    return true;
}

Result<StageSpec> parse_spec(std::string_view text) {
    if (text.starts_with(kClusterScheme)) {
        return parse_remote(text);
    }
    if (const std::string_view scheme = scheme_of(text); !scheme.empty()) {
        return mistake(text, kNowhere, std::string{scheme} + ":// is not supported yet")
            .remedy("name a file, or write '\\:' for a colon in its name");
    }
    const std::vector<Field> fields = split_fields(text);
    if (fields.size() > 3) {
        return mistake(text,
                       fields[3].at - 1,
                       "one colon too many; write '\\:' for a colon in a name ('\\\\:' in an "
                       "#SBATCH line)");
    }
    StageSpec spec;
    spec.is_list = text.starts_with('@');
    spec.source = fields[0].text.substr(spec.is_list ? 1 : 0);
    if (fields.size() > 1) {
        spec.destination = fields[1].text;
    }
    if (fields.size() > 2) {
        TRY(apply_flags(spec, text, fields[2]));
    }
    if (const std::string_view reason = reason_against(spec); !reason.empty()) {
        return mistake(text, spec.source.empty() ? 0 : kNowhere, reason);
    }
    if (const auto place = destination_of(spec); !place) {
        return place.error().within("'" + printable(text.substr(0, kQuoteBytes)) + "'");
    }
    return spec;
}

Result<StageSpec> parse_spec(std::string_view text,
                             const std::function<bool(const std::string&)>& is_there) {
    Result<StageSpec> plain = parse_spec(text);
    if (text.find_first_of(":\\") == kNowhere || text.starts_with(kClusterScheme) ||
        (plain && is_there(plain->source))) {
        return plain;
    }
    const std::string_view mark = text.starts_with('@') ? "@" : "";
    const std::string_view rest = text.substr(mark.size());
    for (std::size_t end = rest.size(); end != kNowhere && end > 0;
         end = rest.rfind(':', end - 1)) {
        const std::string source{rest.substr(0, end)};
        if (is_there(source)) {
            Result<StageSpec> found =
                parse_spec(std::string{mark} + escaped(source) + std::string{rest.substr(end)});
            return found ? std::move(found) : std::move(plain);
        }
    }
    return plain;
}

StageSpec made_absolute(StageSpec spec, std::string_view directory) {
    invariant(directory.starts_with('/'), "a working directory is absolute");
    std::string_view rest = spec.source;
    while (rest.starts_with("./")) {
        rest.remove_prefix(2);
    }
    if (!spec.source.starts_with('/')) {
        std::string absolute{directory};
        if (!absolute.ends_with('/')) {
            absolute += '/';
        }
        absolute += rest;
        spec.source = std::move(absolute);
    }
    return spec;
}

}  // namespace stage
