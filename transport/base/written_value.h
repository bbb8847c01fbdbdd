// Reads what a person writes into a configuration or behind an option: a line of Key=Value, a
// flag, a number with its unit, a time.
//
// Daemon, command and plugin read stagecast.conf by these, so that one line means the same to
// all of them. Every reader gives nothing for a text that it does not take whole.
#pragma once

#include "transport/base/units.h"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace stage {

[[nodiscard]] bool is_digit(char c);
/// ASCII only.
[[nodiscard]] char lower(char c);
/// Without blanks at either end.
[[nodiscard]] std::string_view trimmed(std::string_view text);
/// ASCII letters alike.
[[nodiscard]] bool same_word(std::string_view left, std::string_view right);
/// The Levenshtein distance, ASCII letters alike: letters to insert, to remove or to replace.
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right);

/// Both trimmed, neither with a comment; either may be empty.
struct KeyValue {
    std::string_view key;
    std::string_view value;
};

/// A line without its comment, which begins at #, trimmed.
[[nodiscard]] std::string_view without_comment(std::string_view line);
/// "Key = Value # comment". Nothing if there is no "=" in it.
[[nodiscard]] std::optional<KeyValue> read_key_value(std::string_view line);

/// A number with up to six decimals, and the text behind it.
struct Decimal {
    std::uint64_t whole = 0;
    std::uint64_t fraction = 0;  ///< In parts of `fraction_of`.
    std::uint64_t fraction_of = 1;
    std::string_view unit;
};

[[nodiscard]] std::optional<Decimal> read_decimal(std::string_view text);

/// A unit is worth factor / divisor; factor x 10^6 must fit 64 bits.
struct Unit {
    std::string_view name;
    std::uint64_t factor;
    std::uint64_t divisor;
};

/// The number in units of one, rounded down. Nothing if its unit is none of `units` (case
/// aside), or 64 bits don't hold it.
[[nodiscard]] std::optional<std::uint64_t> in_units(const Decimal& number,
                                                    std::span<const Unit> units);

/// Largest first.
inline constexpr std::array kPowersOf1024{Unit{"T", 1ULL << 40U, 1},
                                          Unit{"G", 1ULL << 30U, 1},
                                          Unit{"M", 1ULL << 20U, 1},
                                          Unit{"K", 1ULL << 10U, 1}};
inline constexpr std::array kSizeUnits{Unit{"", 1, 1},
                                       Unit{"B", 1, 1},
                                       Unit{"KB", 1'000, 1},
                                       Unit{"MB", 1'000'000, 1},
                                       Unit{"GB", 1'000'000'000, 1},
                                       Unit{"TB", 1'000'000'000'000, 1},
                                       Unit{"KiB", 1ULL << 10U, 1},
                                       Unit{"MiB", 1ULL << 20U, 1},
                                       Unit{"GiB", 1ULL << 30U, 1},
                                       Unit{"TiB", 1ULL << 40U, 1}};

/// Bytes: "10G", "1.5M", "4096"; K, M, G, T are powers of 1024 (also KiB, ...), KB, ... of
/// 1000.
[[nodiscard]] std::optional<std::uint64_t> read_size(std::string_view text);
/// yes, true, on, 1; no, false, off, 0.
[[nodiscard]] std::optional<bool> read_flag(std::string_view text);
/// Seconds, decimals allowed, or with s, m, min or h: "600", "0.5", "20M".
[[nodiscard]] std::optional<Duration> read_seconds(std::string_view text);

}  // namespace stage
