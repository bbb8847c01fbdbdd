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
