// Makes and reads the lines by which a launcher carries the members' business cards.
//
// A launcher has stdin and stdout of every member that it started. It writes the group's key to
// stdin; a member writes its card to stdout; the launcher writes the table of all cards, in the
// order of the ranks, to the stdin of all. So the key stands in no command line, file or log,
// and no further connection is needed. Other lines on stdout are messages of the member, or of
// its login shell. Layout: docs/WIRING.md, 2.
#pragma once

#include "pmix/business_card.h"

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace stage {

using LaunchKey = std::array<std::byte, 32>;

/// Limit of a line that a launcher writes, bytes.
inline constexpr std::size_t kMaxLaunchLineBytes = 2 * kMaxBusinessCardTableBytes + 64;

/// The launcher's first line to every member: the key, or its credential (key_credential.h).
[[nodiscard]] std::string key_line(const LaunchKey& key);
[[nodiscard]] std::string sealed_key_line(const std::string& credential);
/// A member's line: its encoded card. A newline precedes it, because a shell's prompt or banner
/// may have left a line open.
[[nodiscard]] std::string card_line(Bytes card);
/// The launcher's last line to every member. `table`: as join_cards() makes it.
[[nodiscard]] std::string table_line(Bytes table);

/// Read a line without its newline. Nothing: another line.
[[nodiscard]] std::optional<LaunchKey> key_in(std::string_view line);
[[nodiscard]] std::optional<std::string> sealed_key_in(std::string_view line);
[[nodiscard]] std::optional<std::vector<std::byte>> table_in(std::string_view line);
/// The bytes are empty if what follows the word is no card.
[[nodiscard]] std::optional<std::vector<std::byte>> card_in(std::string_view line);

}  // namespace stage
