#include "spank/submit/stage_timeout.h"

#include "stager/control/message.h"
#include "transport/base/written_value.h"

#include <algorithm>
#include <array>
#include <optional>

namespace stage {
namespace {

constexpr std::string_view kRemedy =
    "write minutes:seconds, hours:minutes:seconds or days-hours, or a number with s, min or h: "
    "90s, 10min";

/// Parses a whole number, bounded so that no sum of such times overflows.
std::optional<std::int64_t> read_field(std::string_view text) {
    constexpr std::uint64_t kMost = 1'000'000;
    const auto number = read_decimal(text);
    const bool is_whole = number && number->fraction_of == 1 && number->unit.empty();
    return is_whole && number->whole <= kMost
               ? std::optional{static_cast<std::int64_t>(number->whole)}
               : std::nullopt;
}

/// The fields of "a", "a:b" or "a:b:c", or nothing.
std::optional<std::array<std::int64_t, 3>> read_fields(std::string_view text,
                                                       std::size_t& count) {
    std::array<std::int64_t, 3> fields{};
    for (count = 0; count < fields.size();) {
        const std::size_t colon = text.find(':');
        const auto field = read_field(text.substr(0, colon));
        if (!field) {
            return std::nullopt;
        }
        fields.at(count++) = *field;
        if (colon == std::string_view::npos) {
            return fields;
        }
        text.remove_prefix(colon + 1);
    }
    return std::nullopt;
}

/// Parses the format of Slurm's --time; a colon or a dash distinguishes it from a number with a
/// unit.
std::optional<Duration> read_slurm_time(std::string_view text) {
    using std::chrono::hours;
    using std::chrono::minutes;
    using std::chrono::seconds;
    const std::size_t dash = text.find('-');
    const bool has_days = dash != std::string_view::npos;
    const auto days =
        has_days ? read_field(text.substr(0, dash)) : std::optional<std::int64_t>{0};
    std::size_t count = 0;
    const auto fields = read_fields(has_days ? text.substr(dash + 1) : text, count);
    if (!days || !fields) {
        return std::nullopt;
    }
    if (!has_days && count == 2) {
        return minutes{(*fields)[0]} + seconds{(*fields)[1]};
    }
    return hours{24 * *days + (*fields)[0]} + minutes{(*fields)[1]} + seconds{(*fields)[2]};
}

}  // namespace

Result<Duration> read_stage_timeout(std::string_view text) {
    const std::string option = "--stage-timeout=" + printable(text);
    const bool is_zero = text.find_first_not_of('0') == std::string_view::npos;
    if (!is_zero && std::ranges::all_of(text, is_digit)) {
        return Error{Blame::user, option + " has no unit"}.remedy(
            "write " + printable(text) + "min or " + printable(text) + "s");
    }
    const auto time = text.find_first_of(":-") != std::string_view::npos ? read_slurm_time(text)
                                                                         : read_seconds(text);
    if (!time || *time <= Duration{}) {
        return Error{Blame::user, option + " is not a time"}.remedy(std::string{kRemedy});
    }
    return *time;
}

}  // namespace stage
