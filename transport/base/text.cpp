#include "transport/base/text.h"

#include <array>

namespace stage {
namespace {

struct Form {
    unsigned first_min;
    unsigned first_max;
    std::size_t length;
    unsigned second_min;  ///< Keeps out what is too long, surrogates, C1, and above U+10FFFF.
    unsigned second_max;
};

constexpr std::array kForms{Form{0xc2, 0xc2, 2, 0xa0, 0xbf},
                            Form{0xc3, 0xdf, 2, 0x80, 0xbf},
                            Form{0xe0, 0xe0, 3, 0xa0, 0xbf},
                            Form{0xe1, 0xec, 3, 0x80, 0xbf},
                            Form{0xed, 0xed, 3, 0x80, 0x9f},
                            Form{0xee, 0xef, 3, 0x80, 0xbf},
                            Form{0xf0, 0xf0, 4, 0x90, 0xbf},
                            Form{0xf1, 0xf3, 4, 0x80, 0xbf},
                            Form{0xf4, 0xf4, 4, 0x80, 0x8f}};

bool is_within(char byte, unsigned least, unsigned most) {
    const auto code = static_cast<unsigned char>(byte);
    return code >= least && code <= most;
}

}  // namespace

std::size_t shown_length(std::string_view text) {
    if (text.empty()) {
        return 0;
    }
    if (is_within(text[0], 0x00, 0x7f)) {
        return is_within(text[0], 0x20, 0x7e) ? 1 : 0;
    }
    for (const Form& form : kForms) {
        if (!is_within(text[0], form.first_min, form.first_max) || text.size() < form.length ||
            !is_within(text[1], form.second_min, form.second_max)) {
            continue;
        }
        for (std::size_t i = 2; i < form.length; ++i) {
            if (!is_within(text[i], 0x80, 0xbf)) {
                return 0;
            }
        }
        return form.length;
    }
    return 0;
}

}  // namespace stage
