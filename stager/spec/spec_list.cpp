#include "stager/spec/spec_list.h"

#include "stager/control/message.h"
#include "stager/spec/destination.h"
#include "stager/spec/ticket.h"
#include "transport/base/hex.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace stage {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::string_view kExisting = "-knw";  // in the order of Existing
constexpr std::size_t kNowhere = std::string_view::npos;

bool is_plain(char c) {
    const auto code = static_cast<unsigned char>(c);
    return code > ' ' && code != 0x7f && c != '%' && c != ',' && c != ';';
}

void append_escaped(std::string& line, std::string_view text) {
    for (const char c : text) {
        const auto code = static_cast<unsigned char>(c);
        if (is_plain(c)) {
            line += c;
        } else {
            line += '%';
            append_hex(line, code);
        }
    }
}

/// Returns nothing for a text that append_escaped() would not write.
std::optional<std::string> unescaped(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    while (!text.empty()) {
        if (is_plain(text.front())) {
            out += text.front();
            text.remove_prefix(1);
            continue;
        }
        if (text.front() != '%' || text.size() < 3) {
            return std::nullopt;
        }
        const std::size_t high = kHexDigits.find(text[1]);
        const std::size_t low = kHexDigits.find(text[2]);
        if (high == kNowhere || low == kNowhere || high + low == 0) {
            return std::nullopt;
        }
        out += static_cast<char>(high * 16 + low);
        text.remove_prefix(3);
    }
    return out;
}

/// Removes and returns the text before the next `separator`, or all of it.
std::string_view take_until(std::string_view& rest, char separator) {
    const std::size_t end = rest.find(separator);
    const std::string_view taken = rest.substr(0, end);
    rest.remove_prefix(end == kNowhere ? rest.size() : end + 1);
    return taken;
}

bool apply_letter(StageSpec& spec, char letter) {
    const auto* const found = std::ranges::find(kSpecSwitches, letter, &SpecSwitch::letter);
    if (found == kSpecSwitches.end()) {
        return false;
    }
    spec.*(found->member) = true;
    return true;
}

bool apply_letters(StageSpec& spec, std::string_view letters) {
    const std::size_t existing = letters.empty() ? kNowhere : kExisting.find(letters.front());
    if (existing == kNowhere) {
        return false;
    }
    spec.existing = static_cast<Existing>(existing);
    return std::ranges::all_of(letters.substr(1),
                               [&](char letter) { return apply_letter(spec, letter); });
}

Error forged(std::string_view reason) {
    return Error{Blame::user,
                 "the job's list of files to stage is damaged (" + std::string{reason} + ")"}
        .remedy("submit the job again with --stage-file");
}

Result<StageSpec> parse_one(std::string_view text) {
    std::string_view rest = text;
    StageSpec spec;
    const bool lettered = apply_letters(spec, take_until(rest, ','));
    const auto source = unescaped(take_until(rest, ','));
    const auto destination = unescaped(take_until(rest, ','));
    while (!rest.empty()) {
        spec.excludes.push_back(unescaped(take_until(rest, ',')).value_or(""));
    }
    if (!lettered || !source || !destination) {
        return forged("a malformed spec");
    }
    spec.source = *source;
    spec.destination = *destination;
    if (!spec.source.starts_with('/')) {
        return forged("a source that is not absolute");
    }
    if (const std::string_view reason = reason_against(spec); !reason.empty()) {
        return forged(reason);
    }
    return spec;
}

void append_spec(std::string& line, const StageSpec& spec) {
    invariant(spec.source.starts_with('/'), "a source that travels is absolute");
    line += ';';
    line += kExisting[static_cast<std::size_t>(spec.existing)];
    for (const SpecSwitch& one : kSpecSwitches) {
        if (spec.*one.member) {
            line += one.letter;
        }
    }
    line += ',';
    append_escaped(line, spec.source);
    line += ',';
    append_escaped(line, spec.destination);
    for (const std::string& pattern : spec.excludes) {
        line += ',';
        append_escaped(line, pattern);
    }
}

void append_options(std::string& line, const StageOptions& options) {
    if (options.timeout_s != 0) {
        line += ",t" + std::to_string(options.timeout_s);
    }
    if (options.is_verbose) {
        line += ",v";
    }
    if (options.is_no_kill) {
        line += ",k";
    }
    if (options.has_container) {
        line += ",c";
    }
    if (options.umask != kUsualUmask) {
        line += ",u";
        for (const unsigned shift : {6U, 3U, 0U}) {
            line += static_cast<char>('0' + ((options.umask >> shift) & 7U));
        }
    }
    if (options.line != 0) {
        line += ",l" + std::to_string(options.line);
    }
    if (!options.work_dir.empty()) {
        line += ",w";
        append_escaped(line, options.work_dir);
    }
    if (!options.ld_library_path.empty()) {
        line += ",e";
        append_escaped(line, options.ld_library_path);
    }
    if (!options.cluster.empty()) {
        line += ",f" + options.cluster + ",p" + options.ticket;
    }
}

/// Returns false for a word that append_options() does not write.
bool take_option(std::string_view word, StageOptions& options) {
    if (word == "v") {
        options.is_verbose = true;
        return true;
    }
    if (word == "k") {
        options.is_no_kill = true;
        return true;
    }
    if (word == "c") {
        options.has_container = true;
        return true;
    }
    if (word.starts_with('u')) {
        const auto umask = parse_umask(word.substr(1));
        options.umask = umask.value_or(kUsualUmask);
        return umask.has_value();
    }
    if (word.starts_with('w')) {
        const auto directory = unescaped(word.substr(1));
        if (!directory || !directory->starts_with('/') || directory->size() >= kMaxPathBytes) {
            return false;
        }
        options.work_dir = *directory;
        return true;
    }
    if (word.starts_with('e')) {
        const auto path = unescaped(word.substr(1));
        if (!path || path->empty() || path->size() > kMaxLibraryPathBytes) {
            return false;
        }
        options.ld_library_path = *path;
        return true;
    }
    if (word.starts_with('f')) {
        options.cluster = word.substr(1);
        return is_cluster_name(options.cluster);
    }
    if (word.starts_with('p')) {
        options.ticket = word.substr(1);
        return options.ticket.size() <= kMaxTicketText;
    }
    const char* const end = word.data() + word.size();
    if (word.starts_with('l')) {
        return std::from_chars(word.data() + 1, end, options.line).ptr == end &&
               options.line > 0;
    }
    return word.starts_with('t') &&
           std::from_chars(word.data() + 1, end, options.timeout_s).ptr == end &&
           options.timeout_s > 0 && options.timeout_s <= kMaxStageTimeoutS;
}

/// Returns nothing if `head` is not what append_options() writes after the version.
std::optional<StageOptions> parse_options(std::string_view head) {
    StageOptions options;
    if (take_until(head, ',') != kVersion) {
        return std::nullopt;
    }
    while (!head.empty()) {
        if (!take_option(take_until(head, ','), options)) {
            return std::nullopt;
        }
    }
    return options;
}

/// Removes duplicates: scripts, wrappers and the environment may each request the same file.
std::vector<StageSpec> without_equal(std::span<const StageSpec> specs) {
    std::vector<StageSpec> different;
    for (const StageSpec& spec : specs) {
        // (If there are too many specs, order does not matter.)
        const bool is_there = different.size() <= kMaxSpecs &&
                              std::ranges::any_of(different, [&](const StageSpec& other) {
                                  return are_equal(spec, other);
                              });
        if (!is_there) {
            different.push_back(spec);
        }
    }
    return different;
}

Error too_many(std::size_t count) {
    return Error{Blame::user, std::to_string(count) + " files to stage exceed the limit"}
        .remedy("name at most " + std::to_string(kMaxSpecs) +
                ", or one list of them with --stage-file=@LIST");
}

}  // namespace

Result<std::string> serialize(std::span<const StageSpec> given, const StageOptions& options) {
    invariant(!given.empty(), "a job that stages has specs");
    const std::vector<StageSpec> specs = without_equal(given);
    if (specs.size() > kMaxSpecs) {
        return too_many(specs.size());
    }
    TRY(check_distinct(specs));
    std::string line{kVersion};
    append_options(line, options);
    for (const StageSpec& spec : specs) {
        append_spec(line, spec);
    }
    if (line.size() > kMaxSpecsBytes) {
        return Error{Blame::user,
                     "the files to stage need " + std::to_string(line.size()) +
                         " bytes of names, at most " + std::to_string(kMaxSpecsBytes) +
                         " can be handed on"}
            .remedy("name a list of them with --stage-file=@LIST, or a shorter path");
    }
    return line;
}

Result<std::vector<StageSpec>> parse_serialized(std::string_view line) {
    if (line.size() > kMaxSpecsBytes) {
        return forged("it is longer than 32 KiB");
    }
    std::string_view rest = line;
    if (!parse_options(take_until(rest, ';'))) {
        return Error{Blame::node,
                     "the job's list of files to stage is damaged or of another version"}
            .remedy("install the same stagecast on the submit host and on the nodes");
    }
    std::vector<StageSpec> specs;
    do {
        if (specs.size() == kMaxSpecs) {
            return forged("it has too many specs");
        }
        auto spec = parse_one(take_until(rest, ';'));
        if (!spec) {
            return spec.error();
        }
        specs.push_back(*std::move(spec));
    } while (!rest.empty());
    TRY(check_distinct(specs));
    return specs;
}

StageOptions options_in(std::string_view line) {
    return parse_options(take_until(line, ';')).value_or(StageOptions{});
}

}  // namespace stage
