#include "stager/spec/name_pattern.h"

#include "stager/control/message.h"
#include "stager/spec/destination.h"
#include "transport/base/written_value.h"

#include <algorithm>

namespace stage {
namespace {

constexpr std::string_view kLetters = "jAaun";
/// Slurm's limit of digits after a percent sign.
constexpr std::size_t kMaxPadding = 10;

/// A pattern that a percent sign begins.
struct Pattern {
    std::size_t length = 1;  ///< Including the percent sign.
    std::size_t padding = 0;
    char letter = '\0';  ///< '%' or one of kLetters; none: it is no pattern.
};

Pattern pattern_at(std::string_view text) {
    Pattern found;
    std::size_t at = 1;
    for (; at < text.size() && is_digit(text[at]) && at <= 2; ++at) {
        found.padding = found.padding * 10 + static_cast<std::size_t>(text[at] - '0');
    }
    const bool is_escape = at == 1 && at < text.size() && text[at] == '%';
    if (at < text.size() && (is_escape || kLetters.find(text[at]) != std::string_view::npos)) {
        found.letter = text[at];
        found.length = at + 1;
        found.padding = std::min(found.padding, kMaxPadding);
    }
    return found;
}

/// Calls `take` with each pattern and each text between patterns, in order.
template <class Take>
void each_piece(std::string_view name, const Take& take) {
    while (!name.empty()) {
        const std::size_t percent = std::min(name.find('%'), name.size());
        if (percent > 0) {
            take(Pattern{}, name.substr(0, percent));
        }
        name.remove_prefix(percent);
        if (!name.empty()) {
            const Pattern found = pattern_at(name);
            take(found, name.substr(0, found.length));
            name.remove_prefix(found.length);
        }
    }
}

bool has_letter(std::string_view name, std::string_view letters) {
    bool found = false;
    each_piece(name, [&](const Pattern& one, std::string_view) {
        found =
            found || (one.letter != '\0' && letters.find(one.letter) != std::string_view::npos);
    });
    return found;
}

std::string padded(std::uint32_t number, std::size_t padding) {
    const std::string text = std::to_string(number);
    return std::string(padding - std::min(padding, text.size()), '0') + text;
}

Result<std::string> value_of(const Pattern& one, const NameValues& values) {
    switch (one.letter) {
        case 'j':
            return padded(values.job_id, one.padding);
        case 'A':
            return padded(values.array_job_id != 0 ? values.array_job_id : values.job_id,
                          one.padding);
        case 'a':
            if (values.array_job_id == 0) {
                return Error{Blame::user,
                             "%a, the number of an array's task, in a job that is none"}
                    .remedy("write %j, or submit with --array; %% is a percent sign");
            }
            return padded(values.array_task_id, one.padding);
        case 'n':
            return padded(values.node, one.padding);
        case 'u': {
            auto user = values.user ? values.user() : std::nullopt;
            if (!user) {
                return Error{Blame::node, "%u: this node does not know the user's name"};
            }
            return *std::move(user);
        }
        default:
            return std::string{"%"};
    }
}

Result<std::string> expanded(std::string_view name, const NameValues& values) {
    std::string text;
    std::optional<Error> wrong;
    each_piece(name, [&](const Pattern& one, std::string_view piece) {
        const Result<std::string> value = one.letter == '\0'
                                              ? Result<std::string>{std::string{piece}}
                                              : value_of(one, values);
        if (value) {
            text += *value;
        } else if (!wrong) {
            wrong = value.error();
        }
    });
    return wrong ? Result<std::string>{*std::move(wrong)}
                 : Result<std::string>{std::move(text)};
}

bool is_of_variable(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

}  // namespace

bool has_pattern(std::string_view name) {
    return has_letter(name, "%jAaun");
}

bool has_value_pattern(std::string_view name) {
    return has_letter(name, kLetters);
}

bool has_array_pattern(std::string_view name) {
    return has_letter(name, "Aa");
}

std::string literal_name(std::string_view text) {
    std::string name;
    each_piece(text, [&](const Pattern& one, std::string_view piece) {
        name += one.letter == '\0' ? "" : one.letter == '%' ? "%%" : "%";
        name += piece;
    });
    return name;
}

Result<StageSpec> expanded(StageSpec spec, const NameValues& values) {
    std::vector<std::string*> names{&spec.source, &spec.destination};
    for (std::string& pattern : spec.excludes) {
        names.push_back(&pattern);
    }
    for (std::string* const name : names) {
        if (!has_pattern(*name)) {
            continue;
        }
        Result<std::string> text = expanded(std::string_view{*name}, values);
        if (!text) {
            return std::move(text).error().within(printable(*name));
        }
        *name = *std::move(text);
    }
    if (const std::string_view reason = reason_against(spec); !reason.empty()) {
        return Error{Blame::user, printable(spec.source) + ": " + std::string{reason}};
    }
    const Result<Destination> place = destination_of(spec);
    return place ? Result<StageSpec>{std::move(spec)} : Result<StageSpec>{place.error()};
}

std::string_view variable_in(std::string_view name) {
    for (std::size_t at = name.find('$'); at != std::string_view::npos;
         at = name.find('$', at + 1)) {
        const std::string_view rest = name.substr(at + 1);
        if (rest.starts_with('{') && rest.find('}') != std::string_view::npos) {
            return name.substr(at, rest.find('}') + 2);
        }
        const auto* const end = std::ranges::find_if_not(
            rest, [](char c) { return is_of_variable(c) || is_digit(c); });
        if (!rest.empty() && is_of_variable(rest.front())) {
            return name.substr(at, 1 + static_cast<std::size_t>(end - rest.begin()));
        }
    }
    return {};
}

Status check_patterns(const StageSpec& spec) {
    const auto has_node = [](const std::string& name) { return has_letter(name, "n"); };
    if (has_node(spec.source) || std::ranges::any_of(spec.excludes, has_node)) {
        return Error{Blame::user,
                     "'" + printable(spec.source) +
                         "': %n, the node's number, can't stand in a source, which one node "
                         "reads for all, nor in exclude="}
            .remedy("write %% for a percent sign in its name");
    }
    if (const std::string_view variable = variable_in(spec.destination); !variable.empty()) {
        return Error{Blame::user,
                     "'" + printable(spec.destination) + "': nothing expands " +
                         printable(variable) + " here"}
            .remedy(
                "write its value, or %u for the user, %j for the job, %A and %a for an "
                "array and its task");
    }
    return {};
}

}  // namespace stage
