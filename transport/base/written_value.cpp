#include "transport/base/written_value.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

namespace stage {
namespace {

constexpr std::string_view kBlanks = " \t\r\n\v\f";
constexpr std::size_t kDecimalsMax = 6;  ///< More are refused.

/// Takes the digits at the front of `text` and adds them to `number`, or nothing if 64 bits
/// don't hold that. The result is how many there were.
std::optional<std::size_t> take_digits(std::string_view text, std::uint64_t& number) {
    std::size_t count = 0;
    for (; count < text.size() && is_digit(text[count]); ++count) {
        const auto digit = static_cast<std::uint64_t>(text[count] - '0');
        if (__builtin_mul_overflow(number, 10U, &number) ||
            __builtin_add_overflow(number, digit, &number)) {
            return std::nullopt;
        }
    }
    return count;
}

/// number × unit ÷ divisor, or nothing if 64 bits don't hold it. unit × 10^6 must fit.
std::optional<std::uint64_t> scaled(const Decimal& number,
                                    std::uint64_t unit,
                                    std::uint64_t divisor) {
    std::uint64_t whole = 0;
    if (__builtin_mul_overflow(number.whole, unit, &whole) ||
        __builtin_add_overflow(whole, number.fraction * unit / number.fraction_of, &whole)) {
        return std::nullopt;
    }
    return whole / divisor;
}

constexpr std::uint64_t kSecond = 1'000'000'000;  ///< In nanoseconds.
constexpr std::array kTimes{
    Unit{"", kSecond, 1},
    Unit{"s", kSecond, 1},
    Unit{"m", 60 * kSecond, 1},
    Unit{"min", 60 * kSecond, 1},
    Unit{"h", 3600 * kSecond, 1},
};

}  // namespace

bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) {
        return {};
    }
    return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool same_word(std::string_view left, std::string_view right) {
    return std::ranges::equal(left, right, {}, lower, lower);
}

std::size_t edit_distance(std::string_view left, std::string_view right) {
    std::vector<std::size_t> row(right.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < left.size(); ++i) {
        std::size_t diagonal = std::exchange(row[0], i + 1);
        for (std::size_t j = 0; j < right.size(); ++j) {
            const bool is_same = lower(left[i]) == lower(right[j]);
            const std::size_t replaced = diagonal + (is_same ? 0U : 1U);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, diagonal + 1});
        }
    }
    return row.back();
}

std::optional<KeyValue> read_key_value(std::string_view line) {
    line = without_comment(line);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) {
        return std::nullopt;
    }
    return KeyValue{.key = trimmed(line.substr(0, equals)),
                    .value = trimmed(line.substr(equals + 1))};
}

std::string_view without_comment(std::string_view line) {
    return trimmed(line.substr(0, line.find('#')));
}

std::optional<Decimal> read_decimal(std::string_view text) {
    Decimal number;
    const auto digits = take_digits(text, number.whole);
    if (!digits || *digits == 0) {
        return std::nullopt;
    }
    text.remove_prefix(*digits);
    if (!text.empty() && text.front() == '.') {
        text.remove_prefix(1);
        const auto decimals = take_digits(text, number.fraction);
        if (!decimals || *decimals == 0 || *decimals > kDecimalsMax) {
            return std::nullopt;
        }
        for (std::size_t i = 0; i < *decimals; ++i) {
            number.fraction_of *= 10;
        }
        text.remove_prefix(*decimals);
    }
    number.unit = trimmed(text);
    return number;
}

std::optional<std::uint64_t> in_units(const Decimal& number, std::span<const Unit> units) {
    for (const Unit& unit : units) {
        if (same_word(number.unit, unit.name)) {
            return scaled(number, unit.factor, unit.divisor);
        }
    }
    return std::nullopt;
}

std::optional<bool> read_flag(std::string_view text) {
    for (const std::string_view word : {"yes", "true", "on", "1"}) {
        if (same_word(text, word)) {
            return true;
        }
    }
    for (const std::string_view word : {"no", "false", "off", "0"}) {
        if (same_word(text, word)) {
            return false;
        }
    }
    return std::nullopt;
}

std::optional<std::uint64_t> read_size(std::string_view text) {
    const auto number = read_decimal(text);
    if (!number || (number->unit.empty() && number->fraction_of != 1)) {
        return std::nullopt;
    }
    const auto bytes = in_units(*number, kPowersOf1024);
    return bytes ? bytes : in_units(*number, kSizeUnits);
}

std::optional<Duration> read_seconds(std::string_view text) {
    constexpr auto kMax = static_cast<std::uint64_t>(std::numeric_limits<Duration::rep>::max());
    const auto number = read_decimal(text);
    const auto nanoseconds = number ? in_units(*number, kTimes) : std::nullopt;
    if (!nanoseconds || *nanoseconds > kMax) {
        return std::nullopt;
    }
    return Duration{static_cast<Duration::rep>(*nanoseconds)};
}

}  // namespace stage
