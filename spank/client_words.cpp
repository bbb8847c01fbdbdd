#include "spank/client_words.h"

namespace stage {
namespace {

/// Whether what follows may be this option's value: it has none of its own.
bool may_want_value(std::string_view word) {
    const bool is_long = word.starts_with("--");
    return word == ":" || (is_long && word.find('=') == std::string_view::npos) ||
           (!is_long && word.starts_with('-') && word.size() == 2);
}

}  // namespace

std::span<const std::string> own_words(const std::vector<std::string>& words) {
    bool after_option = false;
    std::size_t count = 0;
    for (const std::string_view word : words) {
        if (word == "--" || (!word.starts_with('-') && !after_option)) {
            break;
        }
        after_option = may_want_value(word);
        ++count;
    }
    return std::span{words}.first(count);
}

std::optional<std::string> argument_value(const std::vector<std::string>& words,
                                          std::string_view long_name,
                                          std::string_view short_name) {
    const auto own = own_words(words);
    for (std::size_t i = 0; i < own.size(); ++i) {
        const std::string_view word = own[i];
        const bool is_name = word == long_name || (!short_name.empty() && word == short_name);
        if (is_name) {
            return i + 1 < words.size() ? words[i + 1] : std::string{};
        }
        if (word.starts_with(long_name) && word.size() > long_name.size() &&
            word[long_name.size()] == '=') {
            return std::string{word.substr(long_name.size() + 1)};
        }
        if (!short_name.empty() && word.starts_with(short_name)) {
            return std::string{word.substr(short_name.size())};
        }
    }
    return std::nullopt;
}

}  // namespace stage
