#include "stager/spec/amount.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace stage {

namespace {

using Units = std::array<const char*, 5>;

std::string scaled_text(std::uint64_t bytes, unsigned step, const Units& units) {
    const double next = step - 0.05;  // Would be rounded up to the next unit.
    if (bytes < step) {
        return count_text(bytes, "byte");
    }
    double amount = static_cast<double>(bytes) / step;
    std::size_t unit = 0;
    while (amount >= next && unit + 1 < units.size()) {
        amount /= step;
        ++unit;
    }
    return tenths_text(amount) + ' ' + units.at(unit);
}

}  // namespace

std::string tenths_text(double number) {
    std::array<char, 48> text{};
    static_cast<void>(std::snprintf(text.data(), text.size(), "%.1f", number));
    return text.data();
}

std::string amount_text(std::uint64_t bytes) {
    return scaled_text(bytes, 1000, {"KB", "MB", "GB", "TB", "PB"});
}

std::string binary_amount_text(std::uint64_t bytes) {
    return scaled_text(bytes, 1024, {"KiB", "MiB", "GiB", "TiB", "PiB"});
}

std::string rate_text(double rate, std::uint64_t left) {
    constexpr double kLongest = 1e9;  // A worker may claim any number of bytes.
    const double seconds = std::min(static_cast<double>(left) / rate, kLongest);
    return amount_text(static_cast<std::uint64_t>(rate)) + "/s, " +
           std::to_string(static_cast<long>(seconds)) + " s to go";
}

std::string count_text(std::uint64_t number, std::string_view what) {
    return std::to_string(number) + ' ' + std::string{what} + (number == 1 ? "" : "s");
}

}  // namespace stage
