#include "transport/base/result.h"

#include <system_error>

namespace stage {

std::string_view to_string(Blame blame) {
    switch (blame) {
        case Blame::user:
            return "user";
        case Blame::node:
            return "node";
        case Blame::internal:
            break;
    }
    return "internal";
}

std::string shortened(std::string_view sentence, std::size_t bytes_max) {
    constexpr std::string_view kGap = "...";
    if (sentence.size() <= bytes_max) {
        return std::string{sentence};
    }
    const auto is_inside = [&](std::size_t at) {
        return at < sentence.size() &&
               (static_cast<unsigned char>(sentence[at]) & 0xc0U) == 0x80U;
    };
    std::size_t head = (bytes_max - kGap.size()) / 2;
    std::size_t tail = sentence.size() - (bytes_max - kGap.size() - head);
    while (head > 0 && is_inside(head)) {
        --head;
    }
    while (is_inside(tail)) {
        ++tail;
    }
    std::string text{sentence.substr(0, head)};
    text += kGap;
    text += sentence.substr(tail);
    return text;
}

Error Error::from_errno(Blame blame, std::string_view doing, int cause) {
    std::string sentence{doing};
    sentence += ": ";
    sentence += std::generic_category().message(cause);
    return {blame, std::move(sentence), cause};
}

Error Error::within(std::string_view where) const& {
    return Error{*this}.within(where);
}

Error Error::within(std::string_view where) && {
    sentence_.insert(0, ": ");
    sentence_.insert(0, where);
    return std::move(*this);
}

Error Error::remedy(std::string_view advice) && {
    sentence_ += "; ";
    sentence_ += advice;
    return std::move(*this);
}

}  // namespace stage
