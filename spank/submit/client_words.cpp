#include "spank/submit/client_words.h"

#include <algorithm>

namespace stage {
namespace {

/// Options of one letter that have no value: others may follow in the same word, as in "-lM
/// far".
constexpr std::string_view kBareLetters = "EHOQVXZhluv";

/// Returns what follows `letter` in a word of short options, or nothing if it has none.
std::optional<std::string_view> behind_letter(std::string_view word, char letter) {
    if (letter == '\0' || word.size() < 2 || word[0] != '-' || word[1] == '-') {
        return std::nullopt;
    }
    const std::size_t at = word.find_first_not_of(kBareLetters, 1);
    return at != std::string_view::npos && word[at] == letter
               ? std::optional{word.substr(at + 1)}
               : std::nullopt;
}

bool is_long(std::string_view name, std::string_view long_name, std::string_view least) {
    return name.starts_with(least) && long_name.starts_with(name);
}

}  // namespace

ClientWords ClientOptions::of(const std::vector<std::string>& words, bool is_srun) const {
    std::span<const std::string> rest{words};
    std::size_t own = 0;
    for (const std::size_t end : ends_) {
        const std::span<const std::string> behind = rest.subspan(own);
        const auto colon = std::ranges::find(behind, ":");
        const bool is_next = &end != &ends_.front();
        if (is_next && colon != behind.end() && (is_srun || colon == behind.begin())) {
            rest = behind.subspan(static_cast<std::size_t>(colon - behind.begin()) + 1);
        }
        own = std::min(end > 0 ? end - 1 : 0, rest.size());
    }
    return {.own = rest.first(own), .behind = rest.subspan(own)};
}

std::optional<std::string> argument_value(std::span<const std::string> own,
                                          std::string_view long_name,
                                          std::string_view least,
                                          char short_name) {
    std::optional<std::string> value;
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string_view word = own[i];
        const std::size_t equals = std::min(word.find('='), word.size());
        const auto letters = behind_letter(word, short_name);
        const bool is_here =
            is_long(word.substr(0, equals), long_name, least) || (letters && letters->empty());
        if (equals < word.size() && is_long(word.substr(0, equals), long_name, least)) {
            value = word.substr(equals + 1);
        } else if (is_here) {
            value = i + 1 < own.size() ? own[i + 1] : std::string{};
        } else if (letters) {
            value = *letters;
        }
    }
    return value;
}

}  // namespace stage
