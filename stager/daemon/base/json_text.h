// How is JSON written that is made of what others said?
#pragma once

#include "stager/control/message.h"

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

namespace stage {

/// On one line. Bytes that are no UTF-8 (names of files may be such) become U+FFFD, where
/// dump() alone would throw.
inline std::string json_text(const nlohmann::json& json) {
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// As a daemon answers with it: what is too long for an answer says only so.
inline Report report_of(const nlohmann::json& told) {
    std::string text = json_text(told);
    return Report{text.size() <= kMaxReportBytes ? std::move(text)
                                                 : R"({"why":"too long to tell"})"};
}

}  // namespace stage
