#include "pmix/launch_channel.h"

#include "transport/base/hex.h"

namespace stage {
namespace {

constexpr std::string_view kKeyWord = "stagecast-key ";
constexpr std::string_view kSealedKeyWord = "stagecast-sealed-key ";
constexpr std::string_view kCardWord = "stagecast-card ";
constexpr std::string_view kTableWord = "stagecast-table ";

std::string line_of(std::string_view word, Bytes bytes) {
    return std::string{word} + to_hex(bytes) + '\n';
}

/// Empty bytes if they are more than `longest`, or not in hexadecimal.
std::vector<std::byte> bytes_after(std::string_view word,
                                   std::string_view line,
                                   std::size_t longest) {
    const std::string_view digits = line.substr(word.size());
    std::vector<std::byte> bytes(digits.size() / 2);
    const bool is_right = bytes.size() <= longest && from_hex(digits, bytes);
    return is_right ? bytes : std::vector<std::byte>{};
}

}  // namespace

std::string key_line(const LaunchKey& key) {
    return line_of(kKeyWord, key);
}

std::string sealed_key_line(const std::string& credential) {
    return std::string{kSealedKeyWord} + credential + '\n';
}

std::string card_line(Bytes card) {
    return '\n' + line_of(kCardWord, card);
}

std::string table_line(Bytes table) {
    return line_of(kTableWord, table);
}

std::optional<LaunchKey> key_in(std::string_view line) {
    LaunchKey key{};
    const bool is_key =
        line.starts_with(kKeyWord) && from_hex(line.substr(kKeyWord.size()), key);
    return is_key ? std::optional{key} : std::nullopt;
}

std::optional<std::string> sealed_key_in(std::string_view line) {
    return line.starts_with(kSealedKeyWord)
               ? std::optional{std::string{line.substr(kSealedKeyWord.size())}}
               : std::nullopt;
}

std::optional<std::vector<std::byte>> card_in(std::string_view line) {
    return line.starts_with(kCardWord)
               ? std::optional{bytes_after(kCardWord, line, kMaxBusinessCardBytes)}
               : std::nullopt;
}

std::optional<std::vector<std::byte>> table_in(std::string_view line) {
    return line.starts_with(kTableWord)
               ? std::optional{bytes_after(kTableWord, line, kMaxBusinessCardTableBytes)}
               : std::nullopt;
}

}  // namespace stage
