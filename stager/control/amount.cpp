#include "stager/control/amount.h"

#include <array>
#include <cstdio>

namespace stage {

std::string amount_text(std::uint64_t bytes) {
    constexpr std::array<const char*, 5> kUnits{"KB", "MB", "GB", "TB", "PB"};
    constexpr double kNext = 999.95;  // What would be rounded to 1000.0.
    if (bytes < 1000) {
        return count_text(bytes, "byte");
    }
    double amount = static_cast<double>(bytes) / 1000.0;
    std::size_t unit = 0;
    while (amount >= kNext && unit + 1 < kUnits.size()) {
        amount /= 1000.0;
        ++unit;
    }
    std::array<char, 32> text{};
    static_cast<void>(
        std::snprintf(text.data(), text.size(), "%.1f %s", amount, kUnits.at(unit)));
    return text.data();
}

std::string count_text(std::uint64_t number, std::string_view what) {
    return std::to_string(number) + ' ' + std::string{what} + (number == 1 ? "" : "s");
}

}  // namespace stage
